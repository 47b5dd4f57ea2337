/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tries a step again, after pauses, as long as the disk is full or fails; for a thread that may wait. Others may
 * cancel it, and ask why it waits.
 */
#pragma once

#include <json-c/json.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "error.h"

struct retry {
	_Atomic bool cancelled; /* no step begins any more */
	pthread_mutex_t lock;	/* protects `trouble`, and the pauses */
	pthread_cond_t cancel;
	char trouble[sizeof(((struct engine_error *)NULL)->message)]; /* why it waits; "": it has not had to */
};

void retry_init(struct retry *retry);
void retry_done(struct retry *retry);

/* Whether the error says that the disk is full or fails, so that a later try may succeed. */
bool retry_may_help(int error);

/* What is tried: 0, or a negative errno with a sentence in `error`. */
typedef int (*retry_step)(void *userdata, struct engine_error *error);

struct retry_config {
	const char *session;   /* for the log */
	bool hide;	       /* sentences may hold names that must not be disclosed: errors are told without them */
	uint64_t ends_ns;      /* CLOCK_REALTIME, when there is nothing left to try for; 0: never */
};

/*
 * Repeats the step until it succeeds or fails for another reason. -ECANCELED; -ETIME: the time is over. Any
 * thread.
 */
int retry_run(struct retry *retry, const struct retry_config *config, retry_step step, void *userdata,
	      struct engine_error *error);

/* Ends a pause, and makes retry_run() return before the next try. Any thread. */
void retry_cancel(struct retry *retry);

/* Adds `key` with the reason for which it tries again, if there is one. Any thread. */
void retry_describe(struct retry *retry, const char *key, struct json_object *object);
