/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The snapshots in a session's folder: those that it takes at its start and at intervals, and those on request.
 * Main thread.
 */
#pragma once

#include <json-c/json.h>

#include "orders.h"
#include "pipeline/writer/writer.h"
#include "session_spec.h"

struct schedule;

struct schedule_config {
	struct orders *orders;
	sd_event *event;
	const char *session;		     /* its name, for the log */
	const struct iotr_snapshots *wanted; /* without anything left open: see schedule_resolve() */
	int folder_fd;			     /* of the session; duplicated */
	const struct rights *reads;	     /* with which files are read, unless a client with rights of its own asks */
	const struct rights *writes;	     /* with which the snapshots' files are made */
	const uint8_t *key;		     /* with which names are hashed; NULL: they stay in the clear */
	/* The folder holds so many bytes more. */
	void (*grown)(uint64_t bytes, void *userdata);
	/* Puts the list into the session's manifest, see writer_snapshots(). */
	int (*publish)(struct json_object *list, writer_handler handler, void *handler_userdata, void *userdata);
	void *userdata;
};

/* Fills in from the configuration, if that has any, what a session's request leaves open. */
void schedule_resolve(struct iotr_snapshots *wanted, const struct iotr_snapshots *usual);

/* Orders what is wanted at the start, and from then on at the intervals; all of the config is copied. */
int schedule_new(const struct schedule_config *config, struct schedule **ret);

/*
 * Ends them: a snapshot that is not done in a moment is cancelled, and the final list is published. Does
 * nothing if `schedule` is NULL.
 */
void schedule_end(struct schedule *schedule);
void schedule_free(struct schedule *schedule); /* after schedule_end(); takes NULL */

/* New object: by kind, the last snapshot or the one that is running. Names are in the clear. Takes NULL. */
struct json_object *schedule_status(const struct schedule *schedule);

/* ---- a snapshot on request ---- */

struct schedule_wish {
	enum snapshot_kind kind;
	const char *root; /* this and the next are for walks of a file system */
	uint32_t depth;
	const struct rights *reads; /* with which files are looked at */
};

/*
 * Orders a snapshot beyond what is planned; what the handler is told at its end goes to schedule_add(), too.
 * orders_drop() with this userdata calls it off.
 */
int schedule_order(struct schedule *schedule, const struct schedule_wish *wish, order_handler handler,
		   void *userdata);

/* Adds what was taken to the list; schedule_publish() publishes it then, as `publish` of the config does. */
void schedule_add(struct schedule *schedule, enum snapshot_kind kind, const struct snapshot_state *state);
int schedule_publish(struct schedule *schedule, writer_handler handler, void *userdata);
