/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is said of a trace that is damaged, or of a folder that is none. One thread. */
#pragma once

#include "verify/report.h"

/* Prints the first of what the report has of its manifest, and what a trace is where there is no manifest. Returns EXIT_FAILED. */
int complain_no_trace(const char *path, const struct verify_report *report);

/* Prints all that is wrong with a trace, each as an error. Returns EXIT_FAILED, or EXIT_DONE if that is nothing. */
int complain_problems(const struct verify_report *report);
