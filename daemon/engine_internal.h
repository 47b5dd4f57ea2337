/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the engine's sources share: the sessions, and the parts that serve them. Main thread, except for the
 * tap (engine_tail.c), which a writer thread calls.
 */
#pragma once

#include <json-c/json.h>
#include <limits.h>
#include <time.h>

#include "anonymize_key.h"
#include "engine.h"
#include "errand.h"
#include "json_add.h"
#include "pipeline/consumer.h"
#include "pipeline/writer/losses.h"
#include "pipeline/pipeline.h"
#include "pipeline/recover/recover.h"
#include "pipeline/storage/storage.h"
#include "probes/filter_error.h"
#include "probes/paths_find.h"
#include "probes/probes.h"
#include "running.h"
#include "selftest/doctor.h"
#include "session_spec.h"
#include "snapshot/schedule.h"

#define SHUTDOWN       "shutdown" /* reason of sessions that end with the daemon */
#define SESSION_FAILED "failed"	  /* reason of a session that could not start: nothing of it is kept */

enum {
	ENDED_MAX = 64, /* ended sessions, not stopped by a user, whose last status is kept */
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

/* A request that waits for a session's end. */
struct session_waiter {
	struct session_waiter *next;
	engine_handler handler;
	void *userdata;
};

/* The slot of a session on the control page, and the slot's counts from before the session took it. */
struct session_place {
	int bit;
	struct probes_loss before[IOTR_STREAM_COUNT];
	uint64_t unfollowed_before;
};

/* A slot that a session has left because its filters changed: operations that began in it still end in it. */
struct place_left {
	struct session *session; /* NULL: the slot is not in this state */
	struct session_place place;
	uint64_t number; /* order in which slots were left: the oldest has the smallest number */
};

struct session {
	struct engine *engine;
	struct session_place place; /* slot for operations that begin from now on */
	struct probes_loss settled[IOTR_STREAM_COUNT]; /* sums over slots that it gave up */
	uint64_t unfollowed_settled;
	bool unfollowed_told; /* a warning was logged */
	struct iotr_session_spec spec;
	struct rights owner;
	struct timespec started; /* CLOCK_REALTIME */
	uint64_t ends_ns; /* as in its note; 0: the note has none, or there is no note yet */
	struct opening *opening; /* the thread that opens folder, note and files; NULL: that is over */
	engine_start_handler start_handler; /* is called when the start has ended; NULL: nobody waits */
	void *start_userdata;
	char note[RUNNING_ID_MAX];
	struct paths_found *paths; /* what was found at the paths of its filters; NULL: it has none */
	char folder[PATH_MAX]; /* the folder in its note; "": there is none yet */
	ino_t inode;	       /* inode of `folder` */
	struct iotr_anonymizer *anonymizer; /* used on the main thread; NULL: names stay in the clear */
	uint8_t anonymize_key[IOTR_ANONYMIZE_KEY_SIZE]; /* valid if there is an anonymizer */
	char output[PATH_MAX];	  /* "" for a flight recorder, and until the folder exists */
	/* Rows and bytes of the sessions that this one continues, which count for its limits. */
	struct recover_extent before;
	struct trace *trace;	  /* of the writer */
	struct writer *writer;	  /* NULL for a flight recorder, and until its folder is open */
	struct recorder *recorder; /* NULL for a session with a writer */
	struct engine_dump *dump;  /* the dump that is being written, or NULL */
	struct json_object *missing;
	uint64_t missed_before[IOTR_STREAM_COUNT];
	uint64_t missed_told[IOTR_STREAM_COUNT]; /* value in the last report to the writer */
	struct probes_loss looked[IOTR_STREAM_COUNT]; /* counts at the last tick of engine_losses.c */
	struct losses *losses; /* of a flight recorder; a writer has its own */
	uint64_t names_told[IOTR_STREAM_COUNT]; /* number of lost names that were logged */
	sd_event_source *duration;
	struct rates rates;
	struct tail_hub *hub; /* live tails, NULL when there is none */
	bool begun;	      /* rows may have been emitted */
	const char *reason;   /* why it ended; NULL: it starts or runs */
	bool written;	      /* its end is on disk, or the disk was given up */
	bool left_behind;     /* its writer waits for a disk that does not answer */
	struct session_waiter *waiters;
	struct schedule *snapshots; /* NULL for a flight recorder, and until its folder is open */
};

struct engine {
	struct engine_config config;
	sd_event *event;
	struct probes *probes;
	struct consumer *consumer;
	struct session *sessions[IOTR_SESSIONS_MAX]; /* index: the bit of the session's slot */
	struct place_left leaving[IOTR_SESSIONS_MAX]; /* index: bit */
	uint64_t places_left; /* number of slots ever left */
	struct rights log_rights; /* for the content of the log folder */
	struct storage *storage;
	struct json_object *ended[ENDED_MAX]; /* final status, oldest first */
	size_t ended_count;
	/* Writers of ended sessions whose manifest could not be written yet. */
	struct writer *left[IOTR_SESSIONS_MAX];
	bool hung;	/* something did not end in time, as a disk does not answer */
	bool abandoned; /* a thread that waits for a disk was left behind: see opening_abandon() */
	int notice; /* eventfd: a thread or writer has results for the main loop */
	sd_event_source *notices;
	sd_event_source *reports; /* timer: the writers get the counts of the BPF programs */
	const char *block_flags[32];
	struct doctor *doctor;
	uint64_t selftest_bits;	   /* slots that the self-test uses */
	struct resume *resume;	  /* recovery of the folders of killed sessions, or NULL */
	struct engine_dump *dumps; /* dumps that are being written */
	struct errands errands;	   /* work that threads do for the main loop */
	struct rates rates; /* of the daemon's CPU time */
	sd_event_source *tick; /* every second while sessions run */
	struct bpf_cost *bpf_cost;
	sd_event_source *release; /* timer: detaches hooks that no session needs any more */
	struct orders *snapshots;
};

/*
 * Program groups that the sessions need: groups_needed() returns whether there are any, groups_attach()
 * attaches them, and the others detach those that no session needs, at once or later.
 */
bool groups_needed(const struct engine *engine);
void groups_attach(struct engine *engine);
void groups_release(struct engine *engine);
void groups_release_later(struct engine *engine);

/*
 * Returns a free slot. If there is none, the slot that was left first is given up, and what is in flight in it
 * is counted as lost. -ENOSPC.
 */
int place_find(struct engine *engine);

/*
 * Takes the slot for operations that begin later: records with its bit in the session mask are routed to the
 * session.
 */
int place_take(struct session *session, unsigned int bit, struct session_place *ret);

/*
 * Moves the session from its present slot to another one, which is prepared: operations that begin from now on
 * use the new one.
 */
void place_change(struct session *session, const struct session_place *place);

/* Gives up the slots left in which nothing is in flight any more. */
void places_tidy(struct engine *engine);

/*
 * Gives up all slots that the session, which ends, has left; afterwards their rows are queued for the file.
 */
void places_give_up(struct session *session);

/*
 * Makes the slot, which is prepared and not open yet, accept the living descendants of the spec's processes.
 * The programs that see forks must be attached.
 */
int descendants_follow(struct engine *engine, unsigned int place, const struct iotr_session_spec *spec);

/* Number of processes that the session could not follow because the map was full. */
uint64_t session_unfollowed(const struct session *session);

/*
 * -EINVAL: a filter of the spec is not valid, or lets nothing of a stream through. Does not look at the file
 * system for paths.
 */
int filters_check(const struct iotr_session_spec *spec, struct engine_error *error);

/* Converts the error of a filter into one of the engine; returns `r`. */
int filters_fail(struct engine_error *error, int r, const struct filter_error *why);

struct session *engine_find(const struct engine *engine, const char *name);

/*
 * The rights with which the session's files are made: its owner's in a folder that was named, the daemon's
 * below the log folder.
 */
static inline const struct rights *session_writes_as(const struct session *session)
{
	return session->spec.output[0] ? &session->owner : &session->engine->log_rights;
}

/* Whether rows may be emitted for the session. */
static inline bool session_runs(const struct session *session)
{
	return session->begun && !session->reason;
}

/* ---- engine_start.c ---- */

/*
 * engine_start(), with the note of the session that this one continues in `before`, or NULL. The handler gets
 * -ESHUTDOWN if the daemon ended before the session ran.
 */
int session_start(struct engine *engine, const struct iotr_session_spec *spec, const struct rights *owner,
		  const struct running_note *before, engine_start_handler handler, void *userdata,
		  struct engine_error *error);

/* Its opening is done: the session begins to run, or fails and may be freed. */
void session_opened(struct session *session);

/*
 * The same after session_end(), but waits for the opening until `until_ns` (CLOCK_MONOTONIC), then abandons
 * it.
 */
void session_await_opening(struct session *session, uint64_t until_ns);

/* Reports the result of the start to its handler, once; the handler may end the session. */
void session_answer(struct session *session, int result, const struct engine_error *error);

/* ---- engine_session.c ---- */

/*
 * Ends the session. The order ensures that nothing is lost: the programs stop emitting for the session, the
 * rings are drained, the router drops its slot, the writer writes what is queued. As writing may take long,
 * this does not wait for it: session_finish() follows. `reason` must remain valid. Does nothing on a second
 * call. A session that is still starting ends when its opening is done.
 */
void session_end(struct session *session, const char *reason);

/*
 * Called when its rows are written: reports to those that wait for the end, or keeps its last status. Frees
 * the session.
 */
void session_finish(struct session *session);

/* The part of session_end() that follows after its reason is set, once nothing is being opened any more. */
void session_close(struct session *session);
void session_free(struct session *session); /* takes NULL */

/*
 * Removes an ended session from the list of last statuses; its status is freed, or given to the caller in
 * `*ret`.
 */
void ended_forget(struct engine *engine, const char *name, struct json_object **ret);

/* Sets up the eventfd through which writers and threads notify the main loop. */
int engine_notice_init(struct engine *engine);
void engine_notice_done(struct engine *engine);

/*
 * Waits until no session is starting any more, or until `until_ns` (CLOCK_MONOTONIC); the main loop does not
 * run meanwhile.
 */
void engine_await_starts(struct engine *engine, uint64_t until_ns);

/* Reports the counts of the BPF programs to the writers regularly, as long as sessions run. */
void engine_report_soon(struct engine *engine);

/* Keeps a writer whose manifest waits for space on the disk, or frees it. */
void engine_leave(struct engine *engine, struct writer *writer);

/* Reports the counts of the BPF programs to the writer, for the manifest. */
void session_report(struct session *session);

/* The same for one stream, whose `loss` was just read. The session has a writer. */
void session_report_stream(struct session *session, enum iotr_stream stream, const struct probes_loss *loss);

/* Runs of BPF programs that the kernel skipped since the session began. */
uint64_t session_missed(const struct session *session, enum iotr_stream stream);
void session_loss(const struct session *session, enum iotr_stream stream, struct probes_loss *loss);

/* The same as session_loss(), if the stream's counts of all slots have been read with probes_losses(). */
void session_loss_by(const struct session *session, enum iotr_stream stream, const struct probes_loss *places,
		     struct probes_loss *loss);

/* ---- engine_losses.c ---- */

/* Records what all sessions have lost by now; called every second. */
void losses_tick(struct engine *engine);

/* The last such record for a flight recorder; a writer makes its own. */
void losses_last(struct session *session);

/* New array of the latest `most` losses, each with its time. */
struct json_object *session_losses(const struct session *session, size_t most);

/* New objects. */
struct json_object *session_status(const struct session *session);
struct json_object *hooks_describe(const struct engine *engine, uint32_t streams);
struct json_object *missing_describe(const struct engine *engine, const struct iotr_session_spec *spec);

/* Adds hooks that could not be attached to the session's "missing", and to its manifest. */
void session_note_failures(struct session *session);

/* ---- engine_descriptors.c ---- */

/* Advice for the user, appended to an error message when descriptors have run out. */
#define DESCRIPTORS_ADVICE \
	"; the daemon may open no more files: raise LimitNOFILE= of its unit, or `ulimit -Hn` where it is started"

/* -EMFILE: the descriptors that are left to the daemon are too few for one more session of these streams. */
int descriptors_check(uint32_t streams, struct engine_error *error);

/* Makes the host's key of anonymisation if there is none; a failure is logged. */
void anonymize_prepare(const char *state_dir);

/* Makes the session's anonymizer, if it is to have one, from its key. */
int session_anonymize(struct session *session, struct engine_error *error);
void session_anonymize_done(struct session *session);

/* Takes ownership of the filters; returns what may be shown of them. */
struct json_object *anonymize_filters(const struct session *session, struct json_object *filters);

/* The same for what schedule_status() says. */
struct json_object *anonymize_snapshots(const struct session *session, struct json_object *status);

/*
 * Adds "lost": rows lost by the BPF programs, the queue and the disk; `names` counts rows that are present but
 * lack a name.
 */
void add_lost(struct json_object *object, const struct probes_loss *loss, uint64_t queue,
	      uint64_t disk, uint64_t names);

/* UTC in ISO 8601, to the second. */
void add_time(struct json_object *object, const char *key, const struct timespec *time);
void add_mono_time(struct json_object *object, const char *key, uint64_t mono_ns);

/* Begins to keep the session's rates. */
void rates_begin(struct session *session);

/* Adds rates to the streams of a running session's status, and the CPU time of its writer. */
void rates_describe(const struct session *session, struct json_object *status);

/* CPU time of the BPF programs, measured in short windows from bpf_cost_run() on, while sessions run. */
int bpf_cost_new(struct engine *engine, struct bpf_cost **ret);
void bpf_cost_free(struct bpf_cost *cost); /* takes NULL */
void bpf_cost_run(struct bpf_cost *cost);
struct json_object *bpf_cost_describe(const struct engine *engine);

/* New objects: the memory of a flight recorder, and its counts of one stream. */
struct json_object *recorder_describe(const struct session *session);
struct json_object *recorder_stream_status(const struct session *session, enum iotr_stream stream);

/* Allocates a flight recorder's memory, if the limit for all of them allows it. */
int session_open_recorder(struct session *session, struct engine_error *error);

/* The session ends; a dump of it continues. */
void dump_detach(struct session *session);

/* Makes all dumps end soon, with unwritten rows counted as lost, and waits for them. */
void dumps_end(struct engine *engine);

/* Reports the end of the session to its tails; they exist until they are freed. */
void tail_hub_end(struct session *session);

/* ---- engine_storage.c ---- */

int engine_storage_new(struct engine *engine);
bool engine_storage_limited(const struct engine *engine); /* whether there is a limit for all traces together */

/* Adds to the status how its files are retained, and how much there is. */
void session_add_storage(struct json_object *status, const struct session *session);

/* ---- engine_doctor.c ---- */

int engine_doctor_begin(struct engine *engine);

/* ---- engine_snapshot.c ---- */

/* Begins the session's snapshots; the session does not wait for them. `folder_fd` stays the caller's. */
int session_snapshots_begin(struct session *session, int folder_fd);

const char *level_name(enum probes_level level);
