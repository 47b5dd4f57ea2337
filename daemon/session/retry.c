// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/retry.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "json_add.h"
#include "log.h"
#include "pipeline/clocks.h"

#define PAUSE_FIRST_S 1 /* doubled each time */
#define PAUSE_MAX_S   30

void retry_init(struct retry *retry)
{
	pthread_condattr_t attributes;

	*retry = (struct retry){ 0 };
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&retry->cancel, &attributes);
	pthread_condattr_destroy(&attributes);
	pthread_mutex_init(&retry->lock, NULL);
}

void retry_done(struct retry *retry)
{
	pthread_cond_destroy(&retry->cancel);
	pthread_mutex_destroy(&retry->lock);
}

bool retry_may_help(int error)
{
	return error == -ENOSPC || error == -EDQUOT || error == -EROFS || error == -EIO;
}

static void tell(struct retry *retry, const struct retry_config *config, int r, const struct engine_error *error)
{
	const char *text = *error->message && !config->hide ? error->message : strerror(-r);

	pthread_mutex_lock(&retry->lock);
	if (strcmp(retry->trouble, text) != 0) {
		snprintf(retry->trouble, sizeof(retry->trouble), "%s", text);
		log_message(ABOUT(SESSION_WAITS, .session = config->session, .error = -r),
			    "session %s does not go on yet, and tries again: %s", config->session, text);
	}
	pthread_mutex_unlock(&retry->lock);
}

/* Returns false if it was cancelled. */
static bool pause_for(struct retry *retry, unsigned int seconds)
{
	struct timespec until;
	int r = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += seconds;
	pthread_mutex_lock(&retry->lock);
	while (!r && !atomic_load(&retry->cancelled))
		r = pthread_cond_timedwait(&retry->cancel, &retry->lock, &until);
	pthread_mutex_unlock(&retry->lock);
	return !atomic_load(&retry->cancelled);
}

int retry_run(struct retry *retry, const struct retry_config *config, retry_step step, void *userdata,
	      struct engine_error *error)
{
	unsigned int seconds = PAUSE_FIRST_S;
	int r = step(userdata, error);

	while (retry_may_help(r)) {
		tell(retry, config, r, error);
		if (!pause_for(retry, seconds))
			return -ECANCELED;
		seconds = 2 * seconds < PAUSE_MAX_S ? 2 * seconds : PAUSE_MAX_S;
		*error = (struct engine_error){ 0 };
		if (config->ends_ns && config->ends_ns <= clocks_realtime_ns())
			return engine_fail(error, -ETIME, "", "its duration is over");
		r = step(userdata, error);
	}
	return r;
}

void retry_cancel(struct retry *retry)
{
	pthread_mutex_lock(&retry->lock);
	atomic_store(&retry->cancelled, true);
	pthread_cond_signal(&retry->cancel);
	pthread_mutex_unlock(&retry->lock);
}

void retry_describe(struct retry *retry, const char *key, struct json_object *object)
{
	pthread_mutex_lock(&retry->lock);
	if (retry->trouble[0])
		add_string(object, key, retry->trouble);
	pthread_mutex_unlock(&retry->lock);
}
