/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the engine's sources share: the sessions and who carries them. Main thread, but for the
 * tap, which a writer thread calls.
 */
#pragma once

#include <json-c/json.h>
#include <limits.h>
#include <time.h>

#include "anonymize_key.h"
#include "engine.h"
#include "json_add.h"
#include "pipeline/consumer.h"
#include "pipeline/pipeline.h"
#include "pipeline/recover.h"
#include "pipeline/storage.h"
#include "probes/filter_error.h"
#include "probes/probes.h"
#include "running.h"
#include "session.h"

#define SHUTDOWN       "shutdown" /* why sessions end with the daemon */
#define SESSION_FAILED "failed"	  /* it never began: nothing of it is kept */

enum {
	ENDED_MAX = 64, /* sessions that ended by themselves and are still told about */
};

/* Counters at one instant. */
struct rate_sample {
	uint64_t mono_ns;
	uint64_t cpu_ns;
	uint64_t rows[IOTR_STREAM_COUNT];
	uint64_t bytes[IOTR_STREAM_COUNT];
};

struct rates {
	struct rate_sample last, before;
};

/* Who waits for a session's end. */
struct session_waiter {
	struct session_waiter *next;
	engine_handler handler;
	void *userdata;
};

/* Where a session stands on the control page, and the counts of whoever had the place before. */
struct session_place {
	int bit;
	struct probes_loss before[IOTR_STREAM_COUNT];
};

struct session {
	struct engine *engine;
	struct session_place place; /* of what begins now */
	struct session_place left;  /* of what began before the last change of filters; bit -1: none */
	struct probes_loss settled[IOTR_STREAM_COUNT]; /* in places that were given up */
	struct iotr_session_spec spec;
	uint32_t owner_uid;
	struct timespec started; /* CLOCK_REALTIME */
	struct opening *opening; /* while it starts, what opens the next; NULL: that is over */
	engine_start_handler start_handler; /* who waits for that; NULL: nobody */
	void *start_userdata;
	char note[RUNNING_ID_MAX];
	char folder[PATH_MAX]; /* as its note names it; "" as long as there is none */
	ino_t inode;	       /* of that */
	struct iotr_anonymizer *anonymizer; /* main thread's; NULL: names stay in the clear */
	uint8_t anonymize_key[IOTR_ANONYMIZE_KEY_SIZE]; /* where there is an anonymizer */
	char output[PATH_MAX];	  /* "" for a flight recorder, and before a folder is made */
	struct recover_extent before; /* what its limits have counted of sessions it goes on from */
	struct trace *trace;	  /* of a writer */
	struct writer *writer;	  /* either this */
	struct recorder *recorder; /* or this */
	struct engine_dump *dump;  /* that is being written, or NULL */
	struct json_object *missing;
	uint64_t missed_before[IOTR_STREAM_COUNT];
	sd_event_source *duration;
	struct rates rates;
	struct tail_hub *hub; /* live tails, NULL when there is none */
	bool begun;	      /* rows may have come */
	const char *reason;   /* of its end; NULL: it starts or runs */
	bool written;	      /* its end is on disk, or was given up */
	struct session_waiter *waiters;
	struct session_snapshots *snapshots;
};

struct engine {
	struct engine_config config;
	sd_event *event;
	struct probes *probes;
	struct consumer *consumer;
	struct session *sessions[IOTR_SESSIONS_MAX]; /* by the bit of their place */
	struct session *leaving[IOTR_SESSIONS_MAX];  /* by the bit of the place they have left */
	struct storage *storage;
	struct json_object *ended[ENDED_MAX]; /* final status, oldest first */
	size_t ended_count;
	/* Of sessions that ended where their manifest could not be written yet. */
	struct writer *left[IOTR_SESSIONS_MAX];
	bool abandoned; /* a thread is left that waits for a disk: see opening_abandon() */
	int notice; /* eventfd: a writer has something to tell */
	sd_event_source *notices;
	sd_event_source *reports; /* when the writers are told what the probes know */
	const char *block_flags[32];
	struct engine_doctor *doctors; /* who waits for the self-test */
	struct selftest *selftest; /* under way, else NULL */
	uint64_t selftest_bits;	   /* of sessions that it takes for itself */
	struct resume *resume;	  /* what sets right the folders of killed sessions, or NULL */
	struct engine_dump *dumps; /* that are being written */
	struct rates rates; /* of the daemon's CPU time */
	sd_event_source *tick; /* each second while sessions run */
	struct bpf_cost *bpf_cost;
	sd_event_source *release; /* when hooks that nobody wants any more go */
	struct snapshots *snapshots;
};

/* Fills in the error and returns `r`; a NULL message leaves the one that stands there. */
int engine_fail(struct engine_error *error, int r, const char *parameter, const char *message);

/* Groups of programs that the stream needs, a bit for each enum probes_group. */
uint32_t stream_groups(enum iotr_stream stream);

/* What the sessions need: whether there is any; attached now; what none needs let go, at once or soon. */
bool groups_needed(const struct engine *engine);
void groups_attach(struct engine *engine);
void groups_release(struct engine *engine);
void groups_release_later(struct engine *engine);

/* A place that nobody has, if need be one that a session has left. -ENOSPC. */
int place_find(struct engine *engine);

/* Takes a place for what begins later: rows that carry its bit are the session's. */
int place_take(struct session *session, unsigned int bit, struct session_place *ret);

/* Gives up what is left of the place before; when it returns, its rows are on their way to the file. */
void place_leave(struct session *session);

/* -EINVAL: a filter of the spec cannot be, or lets nothing of a stream through. */
int filters_check(const struct iotr_session_spec *spec, struct engine_error *error);

/* The error of a filter as one of the engine. */
int filters_fail(struct engine_error *error, int r, const struct filter_error *why);

struct session *engine_find(const struct engine *engine, const char *name);

/* Rows may come. */
static inline bool session_runs(const struct session *session)
{
	return session->begun && !session->reason;
}

/* ---- engine_start.c ---- */

/*
 * engine_start(); `before` is the note of the session that this one goes on from, or NULL. The handler
 * gets -ESHUTDOWN when the daemon ended before.
 */
int session_start(struct engine *engine, const struct iotr_session_spec *spec, uint32_t owner_uid,
		  const struct running_note *before, engine_start_handler handler, void *userdata,
		  struct engine_error *error);

/* Its opening is done: it begins, or comes to nothing and may be gone. */
void session_opened(struct session *session);

/* The same after its end, waiting until `until_ns` (CLOCK_MONOTONIC); what opens it is abandoned then. */
void session_await_opening(struct session *session, uint64_t until_ns);

/* Tells whoever asked for it how its start went, once; the handler may end the session. */
void session_answer(struct session *session, int result, const struct engine_error *error);

/* ---- engine_session.c ---- */

/*
 * In this order nothing is lost: the programs stop emitting for the session, the rings are read
 * to their end, the router lets go, the writer writes what it has. That may take long, so it is
 * not waited for: session_finish() follows. `reason` must last. Does nothing on a second call. One that
 * is still starting ends when what opens it is done.
 */
void session_end(struct session *session, const char *reason);

/* Its rows are written: tells who waits for it, or keeps its last status. Frees the session. */
void session_finish(struct session *session);

/* What session_end() does, but to give the reason, when nothing is being opened any more. */
void session_close(struct session *session);
void session_free(struct session *session); /* takes NULL */

/* An ended session is no longer told about: its status goes, or is the caller's in `*ret`. */
void ended_forget(struct engine *engine, const char *name, struct json_object **ret);

/* Sees to what the writers have to tell. */
int engine_notice_init(struct engine *engine);
void engine_notice_done(struct engine *engine);

/* Waits until none is starting any more, or `until_ns` (CLOCK_MONOTONIC); the main loop does not run. */
void engine_await_starts(struct engine *engine, uint64_t until_ns);

/* Has the writers told what the probes know, as long as sessions run. */
void engine_report_soon(struct engine *engine);

/* Keeps a writer whose manifest waits for room, or frees it. */
void engine_leave(struct engine *engine, struct writer *writer);

/* Tells the writer what the probes know, for the manifest. */
void session_report(struct session *session);

/* Since the session began. */
uint64_t session_missed(const struct session *session, enum iotr_stream stream);
void session_loss(const struct session *session, enum iotr_stream stream, struct probes_loss *loss);

/* New objects. */
struct json_object *session_status(const struct session *session);
struct json_object *hooks_describe(const struct engine *engine, uint32_t streams);
struct json_object *missing_describe(const struct engine *engine, uint32_t streams);

/* Makes the key of anonymisation, where there is none; a failure is logged. */
void anonymize_prepare(const char *state_dir);

/* The daemon's, made where there is none. Any thread. */
int anonymize_key(const char *state_dir, uint8_t key[IOTR_ANONYMIZE_KEY_SIZE], struct engine_error *error);

/* Anonymizer of a session that is to have one; its key is there. */
int session_anonymize(struct session *session, struct engine_error *error);
void session_anonymize_done(struct session *session);

/* Takes the filters; returns what may be shown of them. */
struct json_object *anonymize_filters(const struct session *session, struct json_object *filters);

/* The same for the object of one of its snapshots. */
struct json_object *anonymize_snapshot(const struct session *session, struct json_object *entry);

/* Adds "lost": what the probes lost, and what after them. */
void add_lost(struct json_object *object, const struct probes_loss *loss, uint64_t queue,
	      uint64_t disk);

/* UTC in ISO 8601, to the second. */
void add_time(struct json_object *object, const char *key, const struct timespec *time);
void add_mono_time(struct json_object *object, const char *key, uint64_t mono_ns);

/* A session has begun: its rates are kept from now on. */
void rates_begin(struct session *session);

/* Adds rates to the streams of a running session's status, and what its writer costs. */
void rates_describe(const struct session *session, struct json_object *status);

/* What BPF programs cost, measured in short windows from bpf_cost_run() on, while sessions run. */
int bpf_cost_new(struct engine *engine, struct bpf_cost **ret);
void bpf_cost_free(struct bpf_cost *cost); /* takes NULL */
void bpf_cost_run(struct bpf_cost *cost);
struct json_object *bpf_cost_describe(const struct engine *engine);

/* A flight recorder's memory, and its rows of a stream; new objects. */
struct json_object *recorder_describe(const struct session *session);
struct json_object *recorder_stream_status(const struct session *session, enum iotr_stream stream);

/* A flight recorder's memory, when there is that much to spare. */
int session_open_recorder(struct session *session, struct engine_error *error);

/* The session ends; a dump of it goes on. */
void dump_detach(struct session *session);

/* Has all dumps end soon, what is not written yet counted as lost, and waits for them. */
void dumps_end(struct engine *engine);

/* Tells the tails of the session that it ended; they live on until they are freed. */
void tail_hub_end(struct session *session);

/* ---- engine_storage.c ---- */

int engine_storage_new(struct engine *engine);
bool engine_storage_limited(const struct engine *engine); /* all traces together */

/* Adds how its files are kept, and what is there. */
void session_add_storage(struct json_object *status, const struct session *session);

/* ---- engine_selftest.c ---- */

/* Ends the self-test under way, if there is one, with whatever it has found. */
void selftest_abort(struct engine *engine);

/* ---- snapshots: engine_snapshot_order.c, engine_snapshot_session.c ---- */

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
