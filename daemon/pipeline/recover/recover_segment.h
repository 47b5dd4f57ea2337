/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One segment of a killed daemon; see recover.h, whose thread it is. */
#pragma once

#include <json-c/json.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "segment_name.h"
#include "trace_scan.h"

/* The files of one segment that are there. */
struct recover_files {
	char name[SEGMENT_NAME_MAX]; /* without an ending */
	unsigned int endings;	     /* of the files: bits 1 << enum segment_ending */
};

/* A stream that is being recovered. */
struct recover_stream {
	const char *flag;
	const char *folder;
	const char *output; /* of the session, for the log */
	int fd;		    /* of the stream's folder */
	struct trace_columns columns;
	_Atomic bool *cancel;
};

/* A new object for a file that stays as it is, and that the manifest did not know. */
struct json_object *recover_describe_open(const struct recover_stream *stream,
					  const struct recover_files *files);

/*
 * Cuts the file after its last whole row, closes it, and describes it as the manifest does: `known`
 * is what the manifest said of it, or NULL. `*ret` is a new object; NULL when there was not even a
 * header, and the file is gone. On an error (-ECANCELED, ...) all is as it was, or only cut.
 */
int recover_segment(const struct recover_stream *stream, const struct recover_files *files,
		    struct json_object *known, struct json_object **ret);
