/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The traces below the log folder, LOG/NAME/START: of sessions, dumps, snapshots and unnamed recordings. Nothing that lies
 * there is trusted; links are not followed. One thread.
 */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct listed_trace {
	char *path;   /* below the log folder: NAME/START */
	struct json_object *manifest; /* without its segments; NULL: it cannot be read */
	bool running; /* or left by a daemon that was killed, or not readable: it is not to be removed */
	uint64_t started_ns, ended_ns; /* since 1970; 0: not known */
	uint64_t bytes; /* that its files take on disk */
};

struct trace_list {
	struct listed_trace *traces; /* the oldest first */
	size_t count;
};

/* Lists those that are there. Returns 0, or a negative errno. trace_list_done() must follow. */
int trace_list_read(int log_fd, struct trace_list *list);
void trace_list_done(struct trace_list *list);

/* "session", "dump", "snapshots" or "?": what it is of. */
const char *listed_trace_kind(const struct listed_trace *trace);

/*
 * Removes one that does not run, and its NAME when it was the last there; the manifest goes last, so that what is
 * interrupted can be found and removed again. -EBUSY: it runs (by now); or a negative errno.
 */
int trace_list_remove(int log_fd, const struct listed_trace *trace);
