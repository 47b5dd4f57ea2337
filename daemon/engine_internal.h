/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the engine's sources share: the sessions and who carries them. Main thread, but for the
 * tap, which a writer thread calls.
 */
#pragma once

#include <json-c/json.h>
#include <limits.h>
#include <time.h>

#include "engine.h"
#include "pipeline/consumer.h"
#include "pipeline/pipeline.h"
#include "probes/probes.h"
#include "running.h"
#include "session.h"

#define SHUTDOWN "shutdown" /* why sessions end with the daemon */

enum {
	ENDED_MAX = 64, /* sessions that ended by themselves and are still told about */
};

struct session {
	struct engine *engine;
	unsigned int bit;
	struct iotr_session_spec spec;
	uint32_t owner_uid;
	struct timespec started; /* CLOCK_REALTIME */
	char output[PATH_MAX];
	const char *resumes; /* folder of the session that it goes on from, or NULL; while it starts */
	char note[RUNNING_ID_MAX];
	struct writer *writer;
	struct json_object *missing;
	struct probes_loss before[IOTR_STREAM_COUNT]; /* counts of the bit's earlier sessions */
	uint64_t missed_before[IOTR_STREAM_COUNT];
	sd_event_source *duration;
	struct tail_hub *hub; /* live tails, NULL when there is none */
	struct session_snapshots *snapshots;
};

struct engine {
	struct engine_config config;
	sd_event *event;
	struct probes *probes;
	struct consumer *consumer;
	struct session *sessions[IOTR_SESSIONS_MAX];
	struct json_object *ended[ENDED_MAX]; /* final status, oldest first */
	size_t ended_count;
	const char *block_flags[32];
	struct resume *resume;	  /* what sets right the folders of killed sessions, or NULL */
	sd_event_source *release; /* when hooks that nobody wants any more go */
	struct snapshots *snapshots;
};

/* Fills in the error and returns `r`; a NULL message leaves the one that stands there. */
int engine_fail(struct engine_error *error, int r, const char *parameter, const char *message);

/* Groups of programs that the stream needs, a bit for each enum probes_group. */
uint32_t stream_groups(enum iotr_stream stream);

/* What the running sessions need: whether there is any, attached now, what is not let go soon. */
bool groups_needed(const struct engine *engine);
void groups_attach(struct engine *engine);
void groups_release_later(struct engine *engine);

struct session *engine_find(const struct engine *engine, const char *name);

/* engine_start(); `resumes` is the folder of the session that this one goes on from, or NULL. */
int session_start(struct engine *engine, const struct iotr_session_spec *spec, uint32_t owner_uid,
		  const char *resumes, struct json_object **ret, struct engine_error *error);

/*
 * In this order nothing is lost: the programs stop emitting for the session, the rings are read
 * to their end, the router lets go, the writer writes what it has. Frees the session; returns its
 * final status.
 */
struct json_object *session_end(struct session *session, const char *reason);

/* Since the session began. */
uint64_t session_missed(const struct session *session, enum iotr_stream stream);
void session_loss(const struct session *session, enum iotr_stream stream, struct probes_loss *loss);

/* New objects. `reason` NULL: it runs. */
struct json_object *session_status(const struct session *session, const char *reason);
struct json_object *session_definition(const struct session *session);
struct json_object *hooks_describe(const struct engine *engine, uint32_t streams);
struct json_object *missing_describe(const struct engine *engine, uint32_t streams);

/* Tells the tails of the session that it ended; they live on until they are freed. */
void tail_hub_end(struct session *session);

/* ---- snapshots: engine_snapshot.c ---- */

int snapshots_new(struct engine *engine, struct snapshots **ret);
void snapshots_free(struct snapshots *snapshots); /* all sessions have ended; takes NULL */

/* Begins the session's; nothing of it waits for them. `folder_fd` stays the caller's. */
int session_snapshots_begin(struct session *session, int folder_fd);
/* Ends them: what is not done in a moment is cancelled, and the writer is told. */
void session_snapshots_end(struct session *session);
void session_snapshots_free(struct session *session);
/* By kind, the last or the one under way: new object. */
struct json_object *session_snapshots_status(const struct session *session);
/* What the session is asked to take, with what it does not say filled in. */
void session_snapshots_resolve(const struct engine *engine, struct iotr_snapshots *snapshots);

const char *level_name(enum probes_level level);
