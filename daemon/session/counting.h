/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counting of I/O by layer, for those who ask how often it multiplies. The programs are loaded and attached while somebody
 * watches, or all the time if the configuration says so. Main thread.
 */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "amplification/group.h"
#include "engine.h"
#include "errand.h"
#include "probes/probes.h"
#include "session/groups.h"
#include "system_rules.h"

enum { COUNTING_WATCHES_MAX = 8 };

struct counting;

/* All that is borrowed must outlive it. */
struct counting_config {
	sd_event *event;
	struct errands *errands;
	struct probes *probes;
	struct hookset *hookset;
	struct groups *groups; /* may be NULL */
	const struct system_rules *rules; /* may change */
};

int counting_new(const struct counting_config *config, struct counting **ret);

/* After errands_end(); takes NULL. */
void counting_free(struct counting *counting);

/* Whether it counts all the time. */
void counting_set_permanent(struct counting *counting, bool permanent);

struct counting_wish {
	bool since_start; /* the window is that since it counts all the time; -ENOENT: it does not */
	uint32_t process; /* what it and its descendants do from now on is told apart; 0: nothing is */
};

/*
 * Somebody watches: from when `begun` is called, which may be before the return. Its error is NULL, or why nothing can be
 * counted: then the watch is to be freed. -EBUSY: COUNTING_WATCHES_MAX watch already.
 */
struct counting_watch;
typedef void (*counting_begun)(const struct engine_error *error, void *userdata);
int counting_watch_new(struct counting *counting, const struct counting_wish *wish, counting_begun begun, void *userdata,
		       struct counting_watch **ret);
void counting_watch_free(struct counting_watch *watch); /* takes NULL */

/* New object, see the method Amplification: the first `count` groups of what was counted since the watch began. */
int counting_look(struct counting_watch *watch, const struct group_wish *wish, size_t count, struct json_object **ret);
