/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Snapshots on request, into a session's folder or one of their own. Main thread. */
#pragma once

#include "orders.h"
#include "own_folder.h"
#include "schedule.h"

struct on_demand;

struct on_demand_config {
	struct orders *orders;
	struct own_folder_config folder;
};

struct on_demand_request {
	struct schedule *schedule; /* of a session that runs, whose folder they go to; NULL: one of their own */
	const char *output;	   /* the session's folder, or the one to make; NULL: the default folder */
	uint32_t kinds;		   /* a bit for each enum snapshot_kind, at least one */
	const char *root;	   /* this and the next are for walks of a file system */
	uint32_t depth;
	bool anonymize, anonymize_host; /* of a folder of their own: see struct own_folder_request */
	const struct rights *caller;	/* whose rights are used to read, and to write to a folder of their own */
};

/*
 * Called on the main loop some times a second with `progress`, {"kind","rows","skipped"}, and once at the end
 * with `done`, {"output","snapshots"}; it takes ownership of both. `error` is valid in the last call: its
 * message is not empty if no snapshot was taken at all; if its parameter is "output", the folder is the cause,
 * and `done` is NULL. The handler may free the request in that call.
 */
typedef void (*on_demand_handler)(struct json_object *progress, struct json_object *done,
				  const struct engine_error *error, void *userdata);

/* The config and the request are copied. */
int on_demand_new(const struct on_demand_config *config, const struct on_demand_request *request,
		  on_demand_handler handler, void *userdata, struct on_demand **ret, struct engine_error *error);

/* Cancels what has not ended. Takes NULL. */
void on_demand_free(struct on_demand *asked);
