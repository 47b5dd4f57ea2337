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
 * by row == NULL, after which the tail must still be freed. stream_mask 0: all streams.
 */
struct engine_tail;
typedef void (*engine_tail_handler)(struct json_object *row, uint64_t skipped, void *userdata);
int engine_tail_new(struct engine *engine, const char *name, uint32_t stream_mask,
		    engine_tail_handler handler, void *userdata, struct engine_tail **ret);
void engine_tail_free(struct engine_tail *tail);
