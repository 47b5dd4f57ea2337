/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the table of cgroups is called in the folder of a trace. Constant data, usable from any thread. */
#pragma once

#define CGROUPS_FOLDER "cgroups"
#define CGROUPS_NAME   "cgroups.csv" /* with .part at its end while the session runs */
