// SPDX-License-Identifier: GPL-2.0-or-later
#include "verify/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "output/complain.h"
#include "verify/counts.h"
#include "verify/segment.h"
#include "verify/snapshots.h"

int verify_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		complain(errno == ENOENT || errno == ENOTDIR ? VERIFY_HINT : NULL, "%s: %s", path, strerror(errno));
	return fd;
}

/* Bytes of text that are to be read, according to the manifest. */
static uint64_t bytes_of(const struct verify_trace *trace)
{
	uint64_t bytes = verify_snapshots_bytes(trace);

	for (size_t i = 0; i < trace->segment_count; i++)
		if (trace->segments[i].state != VERIFY_REMOVED)
			bytes += trace->segments[i].bytes;
	return bytes;
}

void verify_contents(struct verify_trace *trace, struct verify_report *report)
{
	report->bytes_total = bytes_of(trace);
	verify_counts(trace, report);
	for (size_t i = 0; i < trace->segment_count; i++)
		verify_segment(trace, &trace->segments[i], report);
	verify_snapshots(trace, report);
}
