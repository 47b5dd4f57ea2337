// SPDX-License-Identifier: GPL-2.0-or-later
/* The storage as a whole: its limits, the traces found at the daemon's start, and the keepers. */
#include "storage_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void storage_set_limits(struct storage *storage, const struct storage_limits *limits)
{
	pthread_mutex_lock(&storage->lock);
	storage->limits = *limits;
	pthread_cond_signal(&storage->work);
	pthread_mutex_unlock(&storage->lock);
}

void storage_usage(struct storage *storage, uint64_t *used, struct storage_limits *limits)
{
	pthread_mutex_lock(&storage->lock);
	*used = storage->used;
	*limits = storage->limits;
	pthread_mutex_unlock(&storage->lock);
}

static void init_locks(struct storage *storage)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_mutex_init(&storage->lock, NULL);
	pthread_mutex_init(&storage->core, NULL);
	pthread_cond_init(&storage->work, &attributes);
	pthread_cond_init(&storage->gone, &attributes);
	pthread_condattr_destroy(&attributes);
}

int storage_new(const char *log_dir, const struct rights *rights, const struct storage_limits *limits,
		const char *const *recovered, struct storage **ret)
{
	struct storage *storage = calloc(1, sizeof(*storage));
	int error;

	if (!storage)
		return -ENOMEM;
	init_locks(storage);
	TAILQ_INIT(&storage->traces);
	TAILQ_INIT(&storage->visits);
	storage->limits = *limits;
	storage->rights = *rights;
	storage->log_dir = strdup(log_dir);
	if (storage->log_dir)
		storage_scan(storage, recovered);
	error = storage->log_dir ? keepers_start(storage) : -ENOMEM;
	if (error < 0)
		storage_free(storage);
	else
		*ret = storage;
	return error;
}

bool storage_stop(struct storage *storage)
{
	return !storage || keepers_end(storage);
}

bool storage_free(struct storage *storage)
{
	struct trace *trace;

	if (!storage)
		return true;
	if (!storage_stop(storage))
		return false;
	while ((trace = TAILQ_FIRST(&storage->traces))) {
		trace->references = 1;
		trace->counted = false; /* so that trace_unref() frees it */
		trace->ended = true;
		trace_unref(trace);
	}
	pthread_cond_destroy(&storage->gone);
	pthread_cond_destroy(&storage->work);
	pthread_mutex_destroy(&storage->core);
	pthread_mutex_destroy(&storage->lock);
	free(storage->log_dir);
	free(storage);
	return true;
}
