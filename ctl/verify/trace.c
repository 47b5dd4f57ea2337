// SPDX-License-Identifier: GPL-2.0-or-later
#include "verify/trace.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

void verify_trace_done(struct verify_trace *trace)
{
	for (size_t i = 0; i < trace->stream_count; i++) {
		free(trace->streams[i].names);
		free(trace->streams[i].header);
	}
	free(trace->streams);
	free(trace->segments);
	manifest_reader_done(&trace->reader);
	json_object_put(trace->json);
}

static int compare(const void *path, const void *segment)
{
	return strcmp(path, ((const struct verify_segment *)segment)->path);
}

struct verify_segment *verify_find(const struct verify_trace *trace, const char *path)
{
	if (!trace->segment_count)
		return NULL;
	return bsearch(path, trace->segments, trace->segment_count, sizeof(*trace->segments), compare);
}

int verify_open_folder(int parent_fd, const char *name)
{
	return openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}
