/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "verify/report.h"
#include "verify/trace.h"

/* Reports files in the folder that the manifest does not contain. */
void verify_folder(const struct verify_trace *trace, struct verify_report *report);
