/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The data plane as the control plane sees it: sessions that run, what they wrote and lost, and
 * which hooks carry them. Main thread only. Nothing here parses JSON; errors come as a negative
 * errno with a sentence for the user in struct engine_error.
 */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "session.h"
#include "units.h"

struct engine;

/* What traces may take of the log folder's file system: see pipeline/storage.h. */
struct engine_storage {
	struct iotr_share max_use;
	struct iotr_share keep_free;
};

struct engine_config {
	const char *log_dir;   /* sessions without an output folder go to LOG_DIR/NAME/START */
	const char *state_dir;
	const char *level;     /* "auto", "function" or "tracepoint" */
	const struct iotr_snapshots *snapshots; /* of sessions that do not say; may change */
	const char *country;   /* two letters, "": from the time zone; may change */
	bool resume;	       /* sessions that ran when the last daemon ended go on */
	struct engine_storage storage;
};

/* What failed: `parameter` is the name of the Start parameter at fault, or "" . */
struct engine_error {
	char parameter[64];
	char message[512];
};

/* Loads what the kernel lets us load. Fails only when nothing at all can be traced. */
int engine_new(const struct engine_config *config, sd_event *event, struct engine **ret,
	       struct engine_error *error);

/* From now on. */
void engine_set_storage(struct engine *engine, const struct engine_storage *limits);

/* Stops every session (all rows written, files closed), detaches, frees. Takes NULL. */
void engine_free(struct engine *engine);

/*
 * How a start went: called once, on the main loop, in engine_stop() of that session or engine_free(),
 * or before engine_start() returns. On success `session`, the handler's, is an object like one of
 * engine_status(); its "missing" array names what this kernel cannot give
 * ({"stream","operation","reason"}), empty when all is there. Else the error is as for engine_start(),
 * or -EINVAL/-ENOTEMPTY/-EACCES/...: output folder; -ECANCELED: it was stopped before.
 */
typedef void (*engine_start_handler)(int result, struct json_object *session,
				     const struct engine_error *error, void *userdata);

/*
 * Starts a session; the spec is copied. The name is taken, and the session to be seen, from now on;
 * its folder and files are opened beside the main loop, and then the handler is called. -EEXIST: the
 * name runs already; -ENOSPC: 64 run already; -EOPNOTSUPP: none of the streams has a hook here;
 * -EINVAL: a filter. The handler is not called then.
 */
int engine_start(struct engine *engine, const struct iotr_session_spec *spec, uint32_t owner_uid,
		 engine_start_handler handler, void *userdata, struct engine_error *error);

/*
 * What ends after the call, because it waits for the disk, tells its result to a handler: once, on
 * the main loop, in engine_free(), or before the call returns. The value is the handler's.
 */
typedef void (*engine_handler)(int result, struct json_object *value, void *userdata);

/* Filters of a running session that are to be other ones: a bit for each enum iotr_spec_filter. */
struct engine_change {
	struct iotr_session_spec spec; /* has those given */
	uint32_t given;
	uint32_t cleared;
};

/*
 * Changes filters of a running session: what begins from some instant on is judged by the new
 * ones, what began before by the old ones, and no row is lost or written twice. -ENOENT; -ENOSPC:
 * 64 run, and a change needs a place more; -EINVAL. `*ret`: its status.
 */
int engine_set(struct engine *engine, const char *name, const struct engine_change *change,
	       struct json_object **ret, struct engine_error *error);

/*
 * Ends a session; every row is on disk at the handler's call, with its final status. Of one that is
 * still starting nothing is left then. -ENOENT.
 */
int engine_stop(struct engine *engine, const char *name, engine_handler handler, void *userdata);

/*
 * Ends the segments of all streams of the session that have rows. The value: array of the paths
 * just closed. -ENOENT, also while it starts or ends, -EOPNOTSUPP where its rows are in memory: the handler is
 * not called.
 */
int engine_rotate(struct engine *engine, const char *name, engine_handler handler, void *userdata);

/*
 * Writes the rows that a flight recorder holds, of operations that ended within the last `last_ns`
 * (0: all of them), to files in a folder: `output`, or LOG_DIR/NAME/TIME when that is "". Rows that
 * ended before the call are all there, later ones are not waited for. It is written beside the main
 * loop, to its end even when it was let go of; then `handler` is called on the main loop, with what
 * was written (whose owner it becomes), or with NULL and a sentence.
 *
 * -ENOENT, also while it starts or ends; -EOPNOTSUPP: the session writes files; -EBUSY: a dump of it is being written;
 * -EINVAL/-ENOTEMPTY/-EACCES/...: output folder.
 */
struct engine_dump;
typedef void (*engine_dump_handler)(struct json_object *result, const char *message, void *userdata);
int engine_dump_new(struct engine *engine, const char *name, uint64_t last_ns, const char *output,
		    engine_dump_handler handler, void *userdata, struct engine_dump **ret,
		    struct engine_error *error);

/* The handler is not called any more; not to be used after the handler was called. */
void engine_dump_forget(struct engine_dump *dump);

/*
 * Sums up the rows of a flight recorder whose operations ended from `*since_ns` (CLOCK_MONOTONIC)
 * until now, which it becomes. -ENOENT. `*ret`: a new object, see the method Top.
 */
struct engine_look {
	const char *order; /* from engine_look_order() */
	uint64_t count;	   /* most that are told */
};

int engine_look(struct engine *engine, const char *name, const struct engine_look *look,
		uint64_t *since_ns, struct json_object **ret);

/* "rows", "bytes" or "latency" as a constant, NULL: there is no such order. */
const char *engine_look_order(const char *name);

/* New array with the status of the session, or of all when name is NULL. -ENOENT. */
int engine_status(struct engine *engine, const char *name, struct json_object **ret);

/* New object: what the daemon costs, see the method Status. */
int engine_cost(struct engine *engine, struct json_object **ret);

/* New array: streams with flag, doc, operations (each with its hook or the reason there is none), columns. */
int engine_streams(struct engine *engine, struct json_object **ret);

/*
 * Checks: {"check","ok":bool,"detail"}: capabilities, level, hooks per stream and operation. A
 * self-test of less than three seconds tries the hooks with I/O of its own; those it can try have
 * "test" ("rows", "none": no row came although it had to; "unsure": none came, but none had to;
 * "untried") and "rows" besides. The handler is called once, on the main loop, and takes the array;
 * engine_doctor_free() before or after that. Calls at the same time share one self-test.
 */
struct engine_doctor;
typedef void (*engine_doctor_handler)(struct json_object *checks, void *userdata);
int engine_doctor_new(struct engine *engine, engine_doctor_handler handler, void *userdata,
		      struct engine_doctor **ret);
void engine_doctor_free(struct engine_doctor *doctor);

/*
 * Live rows: calls `row` on the main loop for each row formatted while the tail lives (bounded;
 * `skipped` counts rows dropped since the last call). `row`: {"stream": "vfs", "columns": {...}}
 * with every column by name as a string; the callback takes ownership. The session's end is told
 * by row == NULL, after which the tail must still be freed. stream_mask 0: all streams. -ENOENT;
 * -EOPNOTSUPP: the session's rows are kept unformatted, in memory.
 */
struct engine_tail;
typedef void (*engine_tail_handler)(struct json_object *row, uint64_t skipped, void *userdata);
int engine_tail_new(struct engine *engine, const char *name, uint32_t stream_mask,
		    engine_tail_handler handler, void *userdata, struct engine_tail **ret);
void engine_tail_free(struct engine_tail *tail);

/*
 * Snapshots that somebody asked for: into the session's folder, or, without a name, into `output`
 * or LOG_DIR/snapshots/TIME. The handler is called on the main loop some times a second with
 * `progress`, {"kind","rows","skipped"}, and once with `*done`, {"output","snapshots"}, after
 * which it must still be freed (from the handler too); it takes ownership. `error` is valid then:
 * not empty when no snapshot was taken at all. Freeing it before cancels.
 * -ENOENT: no such session, or it starts or ends; -ENOTEMPTY and others with error->parameter "output": the folder;
 * -EINVAL, "anonymize": the session has its names in the clear.
 */
struct engine_snapshot;
struct engine_snapshot_request {
	const char *name;   /* of a session, or NULL */
	uint32_t kinds;	    /* bit per enum snapshot_kind: system, process, filesystem; 0: all */
	const char *root;   /* NULL, and a negative depth: as configured */
	int64_t depth;
	const char *output; /* NULL: the default place */
	bool anonymize;	    /* as a session that is anonymised has it in any case */
	uint32_t owner_uid;
};
typedef void (*engine_snapshot_handler)(struct json_object *progress, struct json_object *done,
					const struct engine_error *error, void *userdata);
int engine_snapshot_new(struct engine *engine, const struct engine_snapshot_request *request,
			engine_snapshot_handler handler, void *userdata,
			struct engine_snapshot **ret, struct engine_error *error);
void engine_snapshot_free(struct engine_snapshot *snapshot); /* takes NULL */

/* Kind by its name, -ENOENT. */
int engine_snapshot_kind(const char *name);
