/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The snapshots that are ordered and not taken yet. One walk of a file system runs at a time, and beside it one
 * snapshot of another kind; the others wait for their turn. Main thread.
 */
#pragma once

#include "sampler.h"
#include "snapshot.h"

struct orders;

struct orders_config {
	sd_event *event;
	const char *program;	    /* that takes them; NULL: the running one */
	const char *const *country; /* of a struct snapshot_request, looked up when a snapshot begins */
};

int orders_new(const struct orders_config *config, struct orders **ret);
void orders_free(struct orders *orders); /* every order is over; takes NULL */

/* Called as a snapshot_handler, but the order is gone when `ended_ns` is set: there is nothing to free. */
typedef void (*order_handler)(enum snapshot_kind kind, const struct snapshot_state *state, void *userdata);

struct order_config {
	const struct snapshot_request *request; /* copied; the country is filled in */
	int folder_fd;				/* where its files are made; must stay open until the order is over */
	const char *session; /* the session of the folder, for the log; must remain valid as long. NULL: none */
	order_handler handler;
	void *userdata;
};

/* Begins when the loop is idle, so that replies are sent before. -ENOMEM. */
int orders_add(struct orders *orders, const struct order_config *config);

/*
 * Whether a snapshot of this kind is ordered into the folder. `*state` is that of the first one, or NULL if it
 * waits for its turn.
 */
bool orders_find(const struct orders *orders, int folder_fd, enum snapshot_kind kind,
		 const struct snapshot_state **state);

/*
 * Ends all orders into the folder; their handlers are called. What is running gets a moment to end by itself,
 * if it is no walk of a file system; other orders end with -ECANCELED, and the message says why.
 */
void orders_end(struct orders *orders, int folder_fd, const char *why);

/* Ends the orders with this userdata; their handlers are not called. */
void orders_drop(struct orders *orders, const void *userdata);

/*
 * Samples CPU shares of processes in the background while they are wanted. Calls are counted: each one with `want` true
 * needs one with false.
 */
void orders_sample(struct orders *orders, bool want);

/* Calls `each` for every process of the machine, with its present state. */
int orders_each_process(struct orders *orders, void (*each)(const struct iotr_task *task, void *userdata),
			void *userdata);

/* The same of every thread. */
int orders_each_thread(struct orders *orders, void (*each)(const struct iotr_task_head *thread, void *userdata),
		       void *userdata);
