/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the sources of snapshots share. Main thread. */
#pragma once

#include <sys/queue.h>

#include "engine_internal.h"
#include "engine_snapshot.h"

struct order {
	TAILQ_ENTRY(order) entry;
	enum snapshot_kind kind;
	struct session *session;       /* NULL: into a folder of its own */
	struct engine_snapshot *asked; /* NULL: ordered by a session's schedule */
	struct snapshots *all;
	struct snapshot *running; /* NULL: it waits for its turn */
	struct snapshot_request request;
	int folder_fd; /* not owned */
};

TAILQ_HEAD(orders, order);

enum { LANE_SHORT, LANE_WALK, LANE_COUNT };

struct snapshots {
	struct engine *engine;
	struct orders lanes[LANE_COUNT]; /* only the first of each lane runs */
	sd_event_source *start;		 /* starts the first order of each lane, when the loop is idle */
	struct sampler *sampler;	 /* NULL: not needed yet */
};

/* Snapshots of one session. */
struct session_snapshots {
	int folder_fd;
	sd_event_source *timers[SNAPSHOT_KIND_COUNT];
	uint32_t numbers[SNAPSHOT_KIND_COUNT]; /* number of the last snapshot of each kind */
	struct json_object *list;	       /* in the form of the manifest */
	bool ended;
};

struct engine_snapshot {
	struct snapshots *all;
	struct session *session;
	uint32_t kinds, depth;
	char root[PATH_MAX];
	struct making *making; /* a thread makes the folder; NULL: it has done so, or none is needed */
	char output[PATH_MAX];
	int folder_fd;
	bool folder_ours; /* made by default for this request, and removed if it stays empty */
	unsigned int left;
	bool any; /* at least one was taken */
	struct closing *closing; /* a thread finishes the folder; NULL: not yet, or not any more */
	struct telling *telling; /* the session's manifest is being written; NULL: not yet, or not any more */
	uint64_t stored; /* bytes of all files on disk */
	struct rights caller;
	struct rights writes; /* with which a folder of its own is written */
	bool anonymize; /* names are hashed with this key; only in a folder of its own */
	uint8_t anonymize_key[IOTR_ANONYMIZE_KEY_SIZE];
	struct json_object *list;
	struct engine_error error;
	engine_snapshot_handler handler;
	void *userdata;
};

/* ---- engine_snapshot_order.c ---- */

/* The body may finish the current order. */
#define FOR_EACH_ORDER(all, order, next)                                                           \
	for (size_t _lane = 0; _lane < LANE_COUNT; _lane++)                                        \
		for (struct order *order = TAILQ_FIRST(&(all)->lanes[_lane]), *next;               \
		     order && (next = TAILQ_NEXT(order, entry), true); order = next)

/* `session` or `asked` may be NULL, never both; `root` and `depth` are for walks. -ENOMEM. */
int order_add(struct snapshots *all, enum snapshot_kind kind, struct session *session,
	      struct engine_snapshot *asked, const char *root, uint32_t depth);

/* The order has ended: reports to its session and to the request, and frees it. */
void order_finish(struct order *order, const struct snapshot_state *state);
void order_cancel(struct order *order);
void order_free(struct order *order); /* reports to nobody */

/* CPU shares are sampled as long as sessions take snapshots of processes. */
void snapshots_adapt_sampler(struct snapshots *all);

/* ---- engine_snapshot_session.c ---- */

/*
 * Adds results of an order to the session's list; session_snapshots_publish() passes the list to its writer,
 * see writer_snapshots().
 */
void session_snapshots_told(struct session *session, struct json_object *entries, uint64_t bytes);
int session_snapshots_publish(struct session *session, writer_handler handler, void *userdata);

/* ---- engine_snapshot.c ---- */

void asked_progress(struct engine_snapshot *asked, struct json_object *progress);
void asked_told(struct engine_snapshot *asked, struct json_object *entries, uint64_t bytes,
		const struct snapshot_state *state);

/*
 * Counts one order less, and updates the session's manifest. After the last one the handler is called, which
 * may free `asked`.
 */
void asked_lose(struct engine_snapshot *asked);
