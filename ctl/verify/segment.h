/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "verify/report.h"
#include "verify/trace.h"

/* Checks the file of one segment, and adds to what was read of the trace. */
void verify_segment(struct verify_trace *trace, const struct verify_segment *segment, struct verify_report *report);

/* Finds its file name: the segment's, or that with .gz or .part. False: there is no such file. */
bool verify_segment_file(int folder_fd, const struct verify_segment *segment, char file[SEGMENT_FILE_MAX]);
