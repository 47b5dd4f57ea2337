/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The programs are loaded by a thread while the daemon serves already, as the kernel takes seconds to verify them.
 * What needs them waits here for those of its groups, which are loaded before others. Main thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "probes/probes.h"

#define LOADING_ALL ((1U << PROBES_GROUP_COUNT) - 1)

/* Somebody who waits for programs; part of the user's own structure. */
struct loading_wait {
	struct loading_wait *next;
	uint32_t groups; /* of this level, see probes_groups(): a bit for each enum probes_group */
	uint32_t lacks;	 /* and until these are seen: a bit for each enum probes_lack */
	void (*loaded)(struct loading_wait *wait); /* called once, on the main loop; it is no longer waiting then */
};

/* Starts the thread, after probes_new(). 0 or a negative errno. */
int loading_begin(struct probes *probes, sd_event *event);

/* Loads the programs of the groups before the return, where the thread is not started. */
void loading_now(struct probes *probes, uint32_t groups);

/* Whether all programs of the groups are loaded, or known to be refused by the kernel. */
bool loading_done(const struct probes *probes, uint32_t groups);

/* Waits for programs that are not loaded yet, until the call of `loaded` or of loading_leave(). */
void loading_await(struct probes *probes, struct loading_wait *wait);
void loading_leave(struct probes *probes, struct loading_wait *wait); /* nothing, if it does not wait */
