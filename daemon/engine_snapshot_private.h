/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the sources of snapshots share. Main thread. */
#pragma once

#include <sys/queue.h>

#include "engine_internal.h"
#include "engine_snapshot.h"

struct order {
	TAILQ_ENTRY(order) entry;
	enum snapshot_kind kind;
	struct session *session;       /* NULL: in a folder of its own */
	struct engine_snapshot *asked; /* NULL: on schedule */
	struct snapshots *all;
	struct snapshot *running; /* NULL: it waits */
	struct snapshot_request request;
	int folder_fd; /* not owned */
};

TAILQ_HEAD(orders, order);

enum { LANE_SHORT, LANE_WALK, LANE_COUNT };

struct snapshots {
	struct engine *engine;
	struct orders lanes[LANE_COUNT]; /* of each the first runs */
	sd_event_source *start;		 /* looks after the lanes when there is nothing else to do */
	struct sampler *sampler;	 /* NULL: not needed yet */
};

/* Of a session. */
struct session_snapshots {
	int folder_fd;
	sd_event_source *timers[SNAPSHOT_KIND_COUNT];
	uint32_t numbers[SNAPSHOT_KIND_COUNT]; /* the last that was given */
	struct json_object *list;	       /* as the manifest has it */
	bool ended;
};

struct engine_snapshot {
	struct snapshots *all;
	struct session *session;
	char output[PATH_MAX];
	int folder_fd;
	bool folder_ours; /* made for this, and removed if nothing comes into it */
	unsigned int left;
	bool any; /* one was taken */
	uint64_t stored; /* bytes of all files */
	uint32_t owner_uid;
	bool anonymize; /* in a folder of its own, by this key */
	uint8_t anonymize_key[IOTR_ANONYMIZE_KEY_SIZE];
	struct json_object *list;
	struct engine_error error;
	engine_snapshot_handler handler;
	void *userdata;
};

/* ---- engine_snapshot_order.c ---- */

/* The body may finish the order. */
#define FOR_EACH_ORDER(all, order, next)                                                           \
	for (size_t _lane = 0; _lane < LANE_COUNT; _lane++)                                        \
		for (struct order *order = TAILQ_FIRST(&(all)->lanes[_lane]), *next;               \
		     order && (next = TAILQ_NEXT(order, entry), true); order = next)

/* `session` or `asked` may be NULL, never both; `root` and `depth` are for walks. -ENOMEM. */
int order_add(struct snapshots *all, enum snapshot_kind kind, struct session *session,
	      struct engine_snapshot *asked, const char *root, uint32_t depth);

/* The order has come to its end: its session and whoever asked are told, and it is freed. */
void order_finish(struct order *order, const struct snapshot_state *state);
void order_cancel(struct order *order);
void order_free(struct order *order); /* nobody is told */

/* As long as sessions take snapshots of processes, CPU shares are kept. */
void snapshots_adapt_sampler(struct snapshots *all);

/* ---- engine_snapshot_session.c ---- */

/* What has become of an order: into the session's list, and from there to its writer. */
void session_snapshots_told(struct session *session, struct json_object *entries, uint64_t bytes);
void session_snapshots_publish(struct session *session);

/* ---- engine_snapshot.c ---- */

void asked_progress(struct engine_snapshot *asked, struct json_object *progress);
void asked_told(struct engine_snapshot *asked, struct json_object *entries, uint64_t bytes,
		const struct snapshot_state *state);

/* One order less is waited for; may call the last handler, and so free it. */
void asked_lose(struct engine_snapshot *asked);
