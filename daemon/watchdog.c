// SPDX-License-Identifier: GPL-2.0-or-later
#include "watchdog.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>

#include "log.h"

#define LOOKS 4 /* within the time after which systemd ends the service */

struct watchdog {
	struct engine *engine;
	sd_event_source *timer;
	uint64_t usec; /* systemd's */
	bool told;     /* the log has what is stuck */
};

/* A thread that stands still for one look may have waited for a CPU, or for the look before it. */
static bool moves(struct watchdog *watchdog)
{
	char what[128];
	uint64_t stuck_ns = engine_stuck(watchdog->engine, what, sizeof(what));

	if (stuck_ns / 1000 < watchdog->usec / LOOKS) {
		watchdog->told = false;
		return true;
	}
	if (!watchdog->told)
		log_message(ABOUT(STUCK), "%s has not moved for %" PRIu64 " ms, although rows wait: systemd is to start "
			    "the daemon again", what, stuck_ns / 1000000);
	watchdog->told = true;
	return false;
}

static int on_timer(sd_event_source *source, uint64_t now, void *userdata)
{
	struct watchdog *watchdog = userdata;

	(void)now;
	if (moves(watchdog))
		sd_notify(false, "WATCHDOG=1");
	sd_event_source_set_time_relative(source, watchdog->usec / LOOKS);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

void watchdog_set(struct engine *engine, sd_event *event, struct watchdog **ret)
{
	struct watchdog *watchdog;
	uint64_t usec = 0;
	int r;

	*ret = NULL;
	if (sd_watchdog_enabled(false, &usec) <= 0)
		return;
	watchdog = calloc(1, sizeof(*watchdog));
	r = watchdog ? sd_event_add_time_relative(event, &watchdog->timer, CLOCK_MONOTONIC, 0, 10000, on_timer, watchdog) :
		       -ENOMEM;
	if (r < 0) {
		log_error("systemd is told no signs of life, and will end the daemon: %s", strerror(-r));
		free(watchdog);
		return;
	}
	watchdog->engine = engine;
	watchdog->usec = usec;
	*ret = watchdog;
}

void watchdog_free(struct watchdog *watchdog)
{
	if (!watchdog)
		return;
	sd_event_source_disable_unref(watchdog->timer);
	free(watchdog);
}
