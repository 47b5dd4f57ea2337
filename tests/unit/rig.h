/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The server and the engine, which records what fake_ring.h has, on a loop that the test turns by hand, and clients
 * at the other ends of socket pairs. What takes longer than RIG_TIMEOUT_USEC fails the test.
 */
#pragma once

#include <json-c/json.h>

#include "control/context.h"
#include "control/server.h"
#include "engine.h"
#include "fake_disk.h"
#include "fake_probes.h"
#include "fake_ring.h"
#include "folder.h"

enum { RIG_TIMEOUT_USEC = 20000000 };

struct rig {
	struct control control;
	struct server *server;
	struct engine *engine;
	struct folder folder;	       /* of the two folders of the engine */
	char log_dir[128], state_dir[128];
};

void rig_init(struct rig *rig);
void rig_done(struct rig *rig);

/* A client's end, not blocking. */
int rig_connect(struct rig *rig);
/* Runs the loop until nothing is left to do. */
void rig_settle(struct rig *rig);
/* Frees the server and then the engine, as the daemon does. */
void rig_end_server(struct rig *rig);

/* Sends all of it while the loop runs; returns whether the server took it. */
bool rig_send(struct rig *rig, int fd, const void *bytes, size_t length);
/* The next message, NULL when the server has closed the connection. */
struct json_object *rig_receive(struct rig *rig, int fd);
/* Sends the text with its NUL, waits for the reply. */
struct json_object *rig_call(struct rig *rig, int fd, const char *text);
/* Whether the server closes the connection without a reply. */
bool rig_closed(struct rig *rig, int fd);

/* Of a reply: the error's name or "", a member of its parameters as text or "". */
const char *rig_error(struct json_object *reply);
const char *rig_parameter(struct json_object *reply, const char *name);

bool rig_continues(struct json_object *reply);

/* Calls, and asserts which error comes; `name` and `value` are one of its parameters. */
void rig_expect(struct rig *rig, const char *text, const char *error, const char *name,
		const char *value);

/* A row of a table of such calls. */
struct rig_case {
	const char *text, *error, *name, *value;
};

void rig_judge(struct rig *rig, const struct rig_case *one);

/* Starts a session of that name; `more`: further parameters, from a comma on. */
void rig_start(struct rig *rig, const char *name, const char *more);
void rig_stop(struct rig *rig, const char *name);
size_t rig_count_sessions(struct rig *rig);
/* Runs the loop until there are so many. */
void rig_await_sessions(struct rig *rig, size_t count);
/* The session as Status shows it; the caller frees it. */
struct json_object *rig_status(struct rig *rig, const char *name);

/* The value at a path of keys and indices, which must be there, as text. */
const char *rig_text_at(struct json_object *object, const char *pointer);

/* How many tails of the engine there are. */
size_t rig_tails(void);
