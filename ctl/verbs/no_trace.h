/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is said of a folder that is no trace. One thread. */
#pragma once

#include "verify/report.h"

/* Prints the first of what the report has of its manifest, and what a trace is where there is no manifest. Returns EXIT_FAILED. */
int complain_no_trace(const char *path, const struct verify_report *report);
