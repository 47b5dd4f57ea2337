/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Snapshots that take their time: the processes that take them wait before they make their first file. */
#pragma once

/* A variable of their environment, and so of the daemon's: the path of a file. They wait while it is there. */
#define FAKE_HELD_SNAPSHOTS "FAKE_HELD_SNAPSHOTS"
