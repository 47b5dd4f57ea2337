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

struct engine;

struct engine_config {
	const char *log_dir;   /* sessions without an output folder go to LOG_DIR/NAME/START */
	const char *state_dir;
	const char *level;     /* "auto", "function" or "tracepoint" */
	const struct iotr_snapshots *snapshots; /* of sessions that do not say; may change */
	const char *country;   /* two letters, "": from the time zone; may change */
	bool resume;	       /* sessions that ran when the last daemon ended go on */
};

/* What failed: `parameter` is the name of the Start parameter at fault, or "" . */
struct engine_error {
	char parameter[64];
	char message[512];
};

/* Loads what the kernel lets us load. Fails only when nothing at all can be traced. */
int engine_new(const struct engine_config *config, sd_event *event, struct engine **ret,
	       struct engine_error *error);

/* Stops every session (all rows written, files closed), detaches, frees. Takes NULL. */
void engine_free(struct engine *engine);

/*
 * Starts a session; the spec is copied. -EEXIST: the name runs already; -ENOSPC: 64 run already;
 * -EOPNOTSUPP: none of the streams has a hook here; -EINVAL/-ENOTEMPTY/-EACCES/...: output folder.
 * On success `*ret` is a new object like one of engine_status(); its "missing" array names what
 * this kernel cannot give ({"stream","operation","reason"}), empty when all is there.
 */
int engine_start(struct engine *engine, const struct iotr_session_spec *spec, uint32_t owner_uid,
		 struct json_object **ret, struct engine_error *error);

/* Ends a session; every row is on disk when this returns. `*ret`: its final status. -ENOENT. */
int engine_stop(struct engine *engine, const char *name, struct json_object **ret);

/* New segment for every stream of the session. `*ret`: array of the paths just closed. -ENOENT. */
int engine_rotate(struct engine *engine, const char *name, struct json_object **ret);

/* New array with the status of the session, or of all when name is NULL. -ENOENT. */
int engine_status(struct engine *engine, const char *name, struct json_object **ret);

/* New array: streams with flag, doc, operations (each with its hook or the reason there is none), columns. */
int engine_streams(struct engine *engine, struct json_object **ret);

/* New array of checks: {"check","ok":bool,"detail"}; capabilities, level, hooks per stream and operation. */
int engine_doctor(struct engine *engine, struct json_object **ret);

/*
 * Live rows: calls `row` on the main loop for each row formatted while the tail lives (bounded;
 * `skipped` counts rows dropped since the last call). `row`: {"stream": "vfs", "columns": {...}}
 * with every column by name as a string; the callback takes ownership. The session's end is told
 * by row == NULL, after which the tail must still be freed. stream_mask 0: all streams.
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
 * -ENOENT: no such session; -ENOTEMPTY and others with error->parameter "output": the folder.
 */
struct engine_snapshot;
struct engine_snapshot_request {
	const char *name;   /* of a session, or NULL */
	uint32_t kinds;	    /* bit per enum snapshot_kind: system, process, filesystem; 0: all */
	const char *root;   /* NULL, and a negative depth: as configured */
	int64_t depth;
	const char *output; /* NULL: the default place */
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
