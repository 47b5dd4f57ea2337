/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A session, from its start to its last row on disk. session.c alone changes its state; others read it. Main
 * thread.
 *
 *     STARTING --- everything is open ---> RUNNING --- end ---> ENDING --- all is written ---> ENDED
 *         |
 *         `------ end, or an error ------> ABORTING --- what was opened is removed ---> FAILED
 */
#pragma once

#include <json-c/json.h>
#include <limits.h>
#include <time.h>

#include "anonymize.h"
#include "pipeline/recover/recover.h"
#include "probes/loading.h"
#include "session_spec.h"
#include "session/context.h"
#include "session/rates.h"
#include "session/row_sink.h"
#include "session/running.h"
#include "session/slots.h"
#include "session/trigger_state.h"
#include "session/vitals.h"

enum session_state {
	SESSION_STARTING, /* what it needs is being opened; its name and slot are taken */
	SESSION_RUNNING,
	SESSION_ENDING, /* rows are being written; no new ones come */
	SESSION_ENDED,
	SESSION_ABORTING, /* it ends without having run */
	SESSION_FAILED,	  /* it has ended so: nothing of it is kept */
	SESSION_STATES,
};

/* Reasons of an end. */
#define SESSION_STOPPED	 "stopped"  /* by a user */
#define SESSION_SHUTDOWN "shutdown" /* with the daemon: it goes on at the next start */
#define SESSION_FAILURE	 "failed"   /* it could not start */
#define SESSION_TRIGGERED "trigger" /* by one of its own triggers */

struct session;

/* What its creator learns. */
struct session_events {
	/*
	 * Its start has succeeded or failed; called once, on the main loop or in session_open(). May end the
	 * session. Errors: of the opening; -ECANCELED, -ESHUTDOWN: it was ended before.
	 */
	void (*started)(struct session *session, int result, const struct engine_error *error);

	/* It is ENDED or FAILED: the last call, which is to free it. */
	void (*ended)(struct session *session);
};

/* Somebody who uses a session that may end; part of the user's own structure. */
struct session_watcher {
	struct session_watcher *next;
	void (*ended)(struct session_watcher *watcher); /* called once, before session_events.ended() */
};

/* What its rows lack; see lacking.h. */
struct session_lack {
	struct loading_wait wait; /* linked in while they do */
	struct json_object *entry; /* of `lacking` */
};

struct session {
	struct session_context *context;
	const struct session_events *events;
	void *userdata; /* of the creator */
	enum session_state state;
	const char *reason; /* why it ends; NULL: it does not */
	struct iotr_session_spec spec;
	struct rights owner;
	struct timespec started; /* CLOCK_REALTIME */
	uint64_t ends_ns; /* CLOCK_REALTIME, as in its note; 0: the note has none, or there is no note yet */
	uint64_t until_ns; /* CLOCK_REALTIME: it ends, and from then on records nothing for sure; 0: not yet */
	uint64_t before_until_ns; /* the same of the session that it continues; 0: there is none, or it is not known */
	char output[PATH_MAX]; /* "" for a flight recorder, and until the folder exists */

	struct row_sink *sink;
	struct slot_owner slots;
	struct hookset_wish wish; /* the hooks that it wants now */
	struct paths_found *paths; /* what was found at the paths of its filters; NULL: it has none */
	struct loading_wait programs; /* linked in while it waits for its programs to be loaded */
	bool awaits_programs;
	struct session_lack lacks[PROBES_LACK_COUNT]; /* by enum probes_lack */
	struct running_note continued; /* meanwhile: the note of the session that it continues; no definition: none */
	struct opening *opening; /* opens what it needs of the disk; NULL: that is over */
	struct schedule *schedule; /* of its snapshots; NULL: it has no folder */
	sd_event_source *duration;
	struct session_triggers triggers;
	bool waiting;	    /* it runs, but records nothing until one of its triggers acts */
	bool went;	    /* it has waited, and records since a trigger acted, or continues a session that did */
	int waiting_folder; /* meanwhile: the descriptor of its folder; otherwise -1 */
	struct session_watcher *watchers;

	char note[RUNNING_ID_MAX]; /* id of its note; "": it has none */
	char folder[PATH_MAX]; /* as in its note, without symbolic links; "": there is none yet */
	ino_t inode;	       /* of that folder */

	struct iotr_anonymizer *anonymizer; /* NULL: names stay in the clear, or the key is not known yet */
	uint8_t anonymize_key[IOTR_ANONYMIZE_KEY_SIZE]; /* valid if there is an anonymizer */

	/* Rows and bytes of the sessions that this one continues, which count for its limits. */
	struct recover_extent before;
	struct json_object *missing; /* array: what this kernel cannot record of it */
	struct json_object *gaps; /* array: when nothing was recorded; NULL: there was no such time */
	struct json_object *in_flight; /* array: what had not ended when it did, see unended.h; NULL: nothing */
	struct json_object *lacking; /* array: what its rows lacked at first, see lacking.h; NULL: nothing */
	uint64_t missed_before[IOTR_STREAM_COUNT]; /* probes_missed() when it began */
	uint64_t forgotten_before; /* control_page_forgotten() when it began */
	uint64_t missed_told[IOTR_STREAM_COUNT]; /* since then, as last reported to the sink */
	bool unfollowed_told; /* a warning was logged */
	bool left_behind;     /* its writer waits for a disk that does not answer */
	struct {
		bool begun;
		uint64_t since_ns; /* CLOCK_MONOTONIC: its first row comes later */
		uint64_t version;  /* groups_version() of the last list */
		uint64_t next_ns;  /* before that, no other list */
	} groups; /* of groups_tell.h */
	struct rates rates;
	struct vitals vitals; /* of its writer */
	struct tail_hub *hub; /* live tails; NULL: there are none */
};

/*
 * Makes a session in the free slot `bit`, STARTING; the spec and the owner are copied. -ENOMEM.
 */
int session_new(struct session_context *context, const struct iotr_session_spec *spec, const struct rights *owner,
		int bit, const struct session_events *events, void *userdata, struct session **ret);
void session_free(struct session *session); /* takes NULL; for one that was not opened, or has ended */

/*
 * Begins to open what it needs, when its programs are loaded. `before`: the note of the session that it continues,
 * or NULL. On an error nothing was begun, and no event will come.
 */
int session_open(struct session *session, const struct running_note *before, struct engine_error *error);

/* One of its triggers acts: it records from now on what it has waited for. If it cannot, it ends. */
void session_go(struct session *session);

/* Its sink is told which triggers have acted. */
void session_tell_triggers(struct session *session);

/*
 * Ends it, for a reason that stays valid. The order loses nothing: the programs stop emitting, the rings are
 * drained, the router drops its slot, the sink writes what is queued. As that may take long, it is not waited
 * for. What is still being opened is cancelled. Does nothing on a second call.
 */
void session_end(struct session *session, const char *reason);

/* A notification came: goes on with what its sink has done. */
void session_collect(struct session *session);

/*
 * The daemon ends: after session_end(), waits until `until_ns` (CLOCK_MONOTONIC) for what is being opened, or
 * for what is being written, and then leaves the thread behind that waits for a disk.
 */
void session_await_opening(struct session *session, uint64_t until_ns);
void session_await_end(struct session *session, uint64_t until_ns);

void session_watch(struct session *session, struct session_watcher *watcher);
void session_unwatch(struct session *session, struct session_watcher *watcher);

/*
 * The rights with which its files are made: its owner's in a folder that was named, the daemon's below the log
 * folder.
 */
const struct rights *session_writes_as(const struct session *session);
