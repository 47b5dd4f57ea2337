// SPDX-License-Identifier: GPL-2.0-or-later
/* Checks a whole trace. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "verb.h"
#include "verify.h"

int verify_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		complain("Give the folder of a trace, the one with manifest.json.", "%s: %s", path,
			 strerror(errno));
	return fd;
}

void verify_contents(struct verify_trace *trace, struct verify_report *report)
{
	verify_counts(trace, report);
	for (size_t i = 0; i < trace->segment_count; i++)
		verify_segment(trace, &trace->segments[i], report);
	verify_snapshots(trace, report);
}
