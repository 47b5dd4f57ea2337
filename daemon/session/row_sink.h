/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the rows of a session go: files (file_sink.h) or memory (memory_sink.h). Main thread.
 */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "pipeline/router.h"
#include "pipeline/writer/writer.h"

/* Counts of a stream since the session began. Each row that came to the sink is in `rows` or lost or refused. */
struct row_counts {
	uint64_t rows;	     /* in a file, or in memory, also if they are there no more */
	uint64_t gone;	     /* of these: in segments that were removed, or overwritten in memory */
	uint64_t bytes;	     /* of these rows */
	uint64_t lost_queue; /* the sink was too slow, or had no memory */
	uint64_t lost_disk;
	uint64_t lost_names; /* rows that are there, but lack a name */
	uint64_t refused;    /* after a limit of the session */
};

struct row_sink;

/* Called once, on the main loop, when the end of the sink is done. */
typedef void (*row_sink_handler)(void *userdata);

struct row_sink_ops {
	/* From now on the router gives it the rows with this bit in their session mask. */
	int (*attach)(struct row_sink *sink, struct router *router, unsigned int slot);

	void (*counts)(const struct row_sink *sink, enum iotr_stream stream, struct row_counts *ret);

	/* CPU time of its thread; NULL: it has none of its own. */
	uint64_t (*cpu_ns)(const struct row_sink *sink);

	/* The kernel's counts of a stream, for the times of losses and for what describes the rows. */
	void (*report)(struct row_sink *sink, enum iotr_stream stream, const struct writer_probes *probes);

	/* Logs names that were lost since the last call. NULL: that is not counted. */
	void (*log_names)(struct row_sink *sink);

	/* writer_turns(). NULL: it has no thread of its own. */
	bool (*turns)(const struct row_sink *sink, uint64_t *turns);

	/* Records what was lost since the last look, and so when; about once a second. */
	void (*look)(struct row_sink *sink);

	/* Called on each notification: calls the handlers of what is done. NULL: nothing is done elsewhere. */
	void (*collect)(struct row_sink *sink);

	/* Which limit of the session was reached, or NULL. The operation is NULL where there are no limits. */
	const char *(*limit)(const struct row_sink *sink);

	/* The definition has changed; the caller keeps the object. -errno. NULL: nothing to tell. */
	int (*redefine)(struct row_sink *sink, struct json_object *definition);

	/*
	 * The cgroups that its rows may name, as they are now, or, `last`, as they were to its end; takes ownership.
	 * A list that the writer cannot take at once is dropped, as a newer one follows while the session runs; the
	 * last one never is. NULL: the sink asks for the list itself when it writes rows.
	 */
	void (*cgroups)(struct row_sink *sink, struct cgroup_list *list, bool last);

	/*
	 * A member of the manifest about the session, as what it cannot record, when nothing was recorded, or which triggers
	 * have acted. The key must stay valid; the caller keeps the array. NULL: it has no manifest.
	 */
	void (*tell)(struct row_sink *sink, const char *key, struct json_object *array);

	/*
	 * Ends it: no row will come. `reason` must stay valid; NULL discards what it took. When the handler is
	 * called, everything is where it belongs, or was given up. -errno: there is nothing to wait for, and
	 * the handler is not called.
	 */
	int (*end)(struct row_sink *sink, const char *reason, row_sink_handler handler, void *userdata);

	/*
	 * After end(): waits until it is done, until `until_ns` (CLOCK_MONOTONIC) or until nothing moves any
	 * more. False: its disk does not answer, and its thread is left behind. NULL: there is no disk.
	 */
	bool (*await)(struct row_sink *sink, uint64_t until_ns);

	/* Why its end is not on disk, as a negative errno, or 0. NULL: there is no disk. */
	int (*trouble)(const struct row_sink *sink);

	/* Adds to a stream's status what only this kind of sink has; `counts` are those of the status. */
	void (*describe_stream)(const struct row_sink *sink, enum iotr_stream stream,
				const struct row_counts *counts, struct json_object *status);

	/* Adds to the session's status what is known of the sink as a whole. */
	void (*describe)(const struct row_sink *sink, struct json_object *status);

	/* New array of the latest losses, at most `most`, each with its time. */
	struct json_object *(*losses)(const struct row_sink *sink, size_t most);

	void (*free)(struct row_sink *sink);
};

/* The first member of each kind of sink. */
struct row_sink {
	const struct row_sink_ops *ops;
};

/* Tells it of an array that becomes a member of the manifest, if there is anything in it. */
static inline void row_sink_tell(struct row_sink *sink, const char *key, struct json_object *array)
{
	if (sink->ops->tell && json_object_array_length(array))
		sink->ops->tell(sink, key, array);
}
