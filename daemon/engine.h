/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The data plane as the control plane sees it: running sessions, what they wrote and lost, and the hooks that
 * serve them. Main thread only. Nothing here parses JSON; errors are a negative errno with a sentence for the
 * user in struct engine_error.
 */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

#include "error.h"
#include "rights.h"
#include "session_spec.h"
#include "system_rules.h"
#include "units.h"

struct engine;

/* Limits of the disk space that traces may use of the log folder's file system: see pipeline/storage/storage.h. */
struct engine_storage {
	struct iotr_share max_use;
	struct iotr_share keep_free;
};

struct engine_config {
	const char *log_dir;   /* a session without an output folder uses LOG_DIR/NAME/START */
	const char *state_dir;
	const char *level;     /* "auto", "function" or "tracepoint" */
	const struct iotr_snapshots *snapshots; /* for sessions that do not specify their own; may change */
	const char *country;   /* two letters, "": derived from the time zone; may change */
	const gid_t *readers;  /* group that may read the content of the log folder; NULL: root alone */
	bool resume;	       /* sessions that ran when the last daemon ended continue */
	struct engine_storage storage;
	const struct system_rules *systems; /* by which storage systems are recognised; may change */
	bool counting;			    /* I/O is counted by layer all the time */
	uint32_t ring_size;	    /* bytes of each row ring, as for probes_new() */
	const uint64_t *queue_size; /* of sessions that do not say; NULL: QUEUE_SIZE; may change */
	int symbols;	    /* as for probes_new(), as long as the engine is there */
	int bequest, hooks; /* what the last daemon has left, as for probes_new(), until the return; -1: nothing */
};

/* Begins to load the programs that this kernel accepts. Fails only if nothing at all can be traced. */
int engine_new(const struct engine_config *config, sd_event *event, struct engine **ret,
	       struct engine_error *error);

/* Sets new limits, which apply from now on. */
void engine_set_storage(struct engine *engine, const struct engine_storage *limits);

/* Whether I/O is counted by layer all the time, not only while somebody asks. */
void engine_set_counting(struct engine *engine, bool counting);

/* New object: what is left out because iotracer itself did it, see the method Status. NULL: out of memory. */
struct json_object *engine_own_describe(const struct engine *engine);

/*
 * Whether the operations of a process make no rows, because it belongs to iotracer. Calls are counted: each
 * one with `own` true needs one with false.
 */
void engine_own(struct engine *engine, pid_t process, bool own);

/*
 * Stops every session (all rows written, files closed), detaches the hooks, frees the engine. Takes NULL.
 * Returns false if threads that wait for a disk were left behind, after at most a minute and a half; the log
 * names their sessions.
 */
bool engine_free(struct engine *engine);

/*
 * The result of a start. It is called once, on the main loop, in engine_stop() of that session or
 * engine_free(), or before engine_start() returns. On success `session`, which the handler owns, is an object
 * like one of engine_status(); its "missing" array names what this kernel cannot record
 * ({"stream","operation","reason"}) and is empty if nothing is missing. On failure the error is one of
 * engine_start(), or -EINVAL/-ENOTEMPTY/-EACCES/... for the output folder, or -ECANCELED if the session was
 * stopped before it ran.
 */
typedef void (*engine_start_handler)(int result, struct json_object *session,
				     const struct engine_error *error, void *userdata);

/*
 * Starts a session; the spec and its owner are copied. A folder that the spec names is made and written with
 * the owner's rights. The name is taken, and the session visible, from now on; a thread opens its folder and
 * files, and then the handler is called. -EEXIST: a session of that name runs already; -ENOSPC: 64 run
 * already; -EOPNOTSUPP: none of the streams has a hook on this kernel; -EINVAL: a filter. On these errors the
 * handler is not called.
 */
int engine_start(struct engine *engine, const struct iotr_session_spec *spec, const struct rights *owner,
		 engine_start_handler handler, void *userdata, struct engine_error *error);

/*
 * New object: the definition of a session that has not ended, as definition_note() has it, filters as they are now; its
 * member "declared" is that of the spec. `ends`: its end has begun, so that it will be as if there were none. -ENOENT.
 */
int engine_definition(struct engine *engine, const char *name, struct json_object **ret, bool *ends);

/*
 * The result of a request that waits for the disk and so may end after the call. The handler is called once:
 * on the main loop, in engine_free(), or before the call returns. It owns the value.
 */
typedef void (*engine_handler)(int result, struct json_object *value, void *userdata);

/*
 * Filters of a running session to replace: `given` and `cleared` have a bit for each enum iotr_spec_filter.
 */
struct engine_change {
	struct iotr_session_spec spec; /* the new values of the filters in `given` */
	uint32_t given;
	uint32_t cleared;
};

/*
 * Changes filters of a running session. Operations that begin after some instant are judged by the new
 * filters, those that began before it by the old ones, and no row is lost or written twice. -ENOENT; -ENOSPC:
 * 64 sessions run, and a change needs one more slot; -EINVAL.
 *
 * A thread looks at paths that are given, as their disk may hang. When it is done, or before the call returns
 * if there are no paths, the handler is called with the result and the session's status, which it owns. It is
 * not called when the call fails, in engine_free(), or after engine_set_cancel(), after which nothing is
 * changed any more. `*ret` is NULL if the handler was called before the return.
 */
struct engine_setting;
typedef void (*engine_set_handler)(int result, struct json_object *session,
				   const struct engine_error *error, void *userdata);
int engine_set(struct engine *engine, const char *name, const struct engine_change *change,
	       engine_set_handler handler, void *userdata, struct engine_setting **ret,
	       struct engine_error *error);
void engine_set_cancel(struct engine_setting *setting);

/*
 * Ends a session. When the handler is called, every row is on disk; the value is the final status. A session
 * that was still starting leaves nothing behind. -ENOENT.
 */
int engine_stop(struct engine *engine, const char *name, engine_handler handler, void *userdata);

/*
 * Ends the current segments of all streams of the session that have rows. The value is an array of the paths
 * just closed. -ENOENT, also while the session starts or ends; -EOPNOTSUPP if its rows are kept in memory. On
 * these errors the handler is not called.
 */
int engine_rotate(struct engine *engine, const char *name, engine_handler handler, void *userdata);

/*
 * Writes the rows of a flight recorder whose operations ended within the last `last_ns` (0: all rows) to files
 * in a folder: `output`, with the caller's rights, or LOG_DIR/NAME/TIME if `output` is "". All rows of
 * operations that ended before the call are included; the dump does not wait for later ones. A thread writes
 * it, to the end even after engine_dump_forget(). Then `handler` is called on the main loop with a description
 * of what was written, which it owns, or with NULL and the error: its `parameter` is "output" if the folder is
 * at fault.
 *
 * -ENOENT, also while the session starts or ends; -EOPNOTSUPP: the session writes files; -EBUSY: a dump of it
 * is being written.
 */
struct engine_dump;
typedef void (*engine_dump_handler)(struct json_object *result, const struct engine_error *error, void *userdata);
int engine_dump_new(struct engine *engine, const char *name, uint64_t last_ns, const char *output,
		    const struct rights *caller, engine_dump_handler handler, void *userdata, struct engine_dump **ret,
		    struct engine_error *error);

/* The handler will not be called any more. Must not be used after the handler was called. */
void engine_dump_forget(struct engine_dump *dump);

/*
 * Sums up the rows of a flight recorder whose operations ended between `*since_ns` (CLOCK_MONOTONIC) and now;
 * `*since_ns` is set to now. `*ret` is a new object, see the method Top. -ENOENT.
 */
struct engine_look {
	const char *order; /* from engine_look_order() */
	const char *by;	   /* from engine_look_by(); NULL: by process, operation and file */
	uint64_t count;	   /* how many entries the result has at most */
};

int engine_look(struct engine *engine, const char *name, const struct engine_look *look,
		uint64_t *since_ns, struct json_object **ret);

/* Returns "rows", "bytes" or "latency" as a constant, or NULL if there is no such order. */
const char *engine_look_order(const char *name);

/* Likewise "process", "file", "directory", "device", "unit", "container" or "operation". */
const char *engine_look_by(const char *name);

/*
 * Counts I/O by layer from when `begun` is called: on the main loop, or before the return. Its error is NULL, or why
 * nothing can be counted. What is called for the first time is loaded first. -EINVAL: the wish, see error->parameter;
 * -ENOENT: with `since_start`, the daemon does not count all the time; -EBUSY: too many count already.
 */
struct engine_amplification;
struct engine_amplification_wish {
	const char *by;		    /* "system", "process", "unit", "container" or "device" */
	const char *const *systems; /* these alone; NULL: all there is */
	size_t system_count;
	uint64_t count;	  /* how many groups the result has at most */
	bool since_start; /* what was counted since the daemon counts all the time */
	uint32_t pid;	  /* what this process and its descendants do from now on is told apart; 0: nothing is */
};
typedef void (*engine_begun_handler)(const struct engine_error *error, void *userdata);
int engine_amplification_new(struct engine *engine, const struct engine_amplification_wish *wish,
			     engine_begun_handler begun, void *userdata, struct engine_amplification **ret,
			     struct engine_error *error);

/* New object, see the method Amplification: what was counted so far. -ENOENT: it is not counted any more. */
int engine_amplification_look(struct engine_amplification *amplification, struct json_object **ret);
void engine_amplification_free(struct engine_amplification *amplification); /* takes NULL */

/* New array with the status of the session, or of all when name is NULL. -ENOENT. */
int engine_status(struct engine *engine, const char *name, struct json_object **ret);

/*
 * Looks at the threads of the data plane, to be called several times within the time that matters. Returns for how many ns the one
 * that has done so longest has stood still, although rows wait for it, and writes which it is to `what`; 0: all of them move. A
 * thread that waits for its session's disk is not one of them.
 */
uint64_t engine_stuck(struct engine *engine, char *what, size_t size);

/* New object: the resources that the daemon uses, see the method Status. */
int engine_cost(struct engine *engine, struct json_object **ret);

/*
 * New object: the level, whether all programs are "loaded", and sums over all sessions since the daemon's start: "streams", by
 * name {rows, bytes, lost: {ring, queue, disk, unmatched, names}}, none of which is ever less than before; "ended", how many
 * have; "storage": bytes {used, max_use, keep_free} of the log folder, 0 for no limit.
 */
int engine_totals(struct engine *engine, struct json_object **ret);

/*
 * Calls the handler once, on the main loop, when it is known what this kernel takes of all programs. If it is already,
 * there is nothing to wait for, and `*ret` is NULL. engine_wait_free() may be called before or after that, and takes
 * NULL.
 */
struct engine_wait;
typedef void (*engine_wait_handler)(void *userdata);
int engine_wait_new(struct engine *engine, engine_wait_handler handler, void *userdata, struct engine_wait **ret);
void engine_wait_free(struct engine_wait *wait);

/*
 * New array: streams with flag, doc, operations (each with its hook or the reason there is none), columns. True when
 * nobody would have to wait: see engine_wait_new().
 */
int engine_streams(struct engine *engine, struct json_object **ret);

/*
 * An array of checks, {"check","ok":bool,"detail"}: capabilities, level, hooks per stream and operation. A
 * self-test of less than three seconds tries the hooks with I/O of its own; checks of what it can try have two
 * more members, "rows" and "test": "rows"; "none": no row came although one had to; "unsure": no row came, but
 * none had to; or "untried". The handler is called once, on the main loop, and owns the array;
 * engine_doctor_free() may be called before or after that. Calls at the same time share one self-test.
 */
struct engine_doctor;
typedef void (*engine_doctor_handler)(struct json_object *checks, void *userdata);
int engine_doctor_new(struct engine *engine, engine_doctor_handler handler, void *userdata,
		      struct engine_doctor **ret);
void engine_doctor_free(struct engine_doctor *doctor);

/*
 * Live rows: `row` is called on the main loop for each row that is formatted while the tail exists. The buffer
 * is bounded; `skipped` counts the rows dropped since the last call. `row` is {"stream": "vfs", "columns":
 * {...}} with every column by name as a string; the callback takes ownership. A NULL row reports the end of
 * the session; the tail must still be freed then. stream_mask 0: all streams. -ENOENT; -EOPNOTSUPP: the
 * session's rows are kept unformatted, in memory.
 */
struct engine_tail;
typedef void (*engine_tail_handler)(struct json_object *row, uint64_t skipped, void *userdata);
int engine_tail_new(struct engine *engine, const char *name, uint32_t stream_mask,
		    engine_tail_handler handler, void *userdata, struct engine_tail **ret);
void engine_tail_free(struct engine_tail *tail);

/*
 * Snapshots on request: into the session's folder, or, without a session's name, into `output` or
 * LOG_DIR/snapshots/TIME. The handler is called on the main loop some times a second with `progress`,
 * {"kind","rows","skipped"}, and once at the end with `done`, {"output","snapshots"}; it takes ownership of
 * both. The snapshot must still be freed after that, which the handler itself may do; freeing it earlier
 * cancels it. `error` is valid in the last call: its message is not empty if no snapshot was taken at all; if
 * its parameter is "output", the folder is the cause, and `done` is NULL.
 *
 * -ENOENT: no such session, or it starts or ends; -EINVAL, "anonymize": the session records names in the
 * clear.
 */
struct engine_snapshot;
struct engine_snapshot_request {
	const char *name;   /* of a session, or NULL */
	uint32_t kinds;	    /* bit per enum snapshot_kind: system, process, filesystem; 0: all */
	const char *root;   /* NULL, or a negative depth: as configured */
	int64_t depth;
	const char *output; /* NULL: the default folder */
	bool anonymize_host; /* with the key of the host, not one of this folder alone */
	bool anonymize;	    /* names are hashed; implied for a session that is anonymised */
	const struct rights *caller; /* whose rights are used to read, and to write to `output`; copied */
};
typedef void (*engine_snapshot_handler)(struct json_object *progress, struct json_object *done,
					const struct engine_error *error, void *userdata);
int engine_snapshot_new(struct engine *engine, const struct engine_snapshot_request *request,
			engine_snapshot_handler handler, void *userdata,
			struct engine_snapshot **ret, struct engine_error *error);
void engine_snapshot_free(struct engine_snapshot *snapshot); /* takes NULL */

/* Returns the kind of that name, or -ENOENT. */
int engine_snapshot_kind(const char *name);
