/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which groups of programs are attached: those that sessions wish for. Wishes are counted; each must be taken back as
 * it was made. Main thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "probes/probes.h"

struct hookset;

struct hookset_wish {
	uint32_t streams; /* a bit for each enum iotr_stream */
	bool processes;	  /* forks, ends of processes, and new cgroups are needed for its filters */
};

int hookset_new(struct probes *probes, sd_event *event, struct hookset **ret);
void hookset_free(struct hookset *hookset); /* takes NULL; detaches nothing */

/* Attaches what the wish needs and is not attached yet; what cannot be attached is in probes_failures(). */
void hookset_want(struct hookset *hookset, const struct hookset_wish *wish);

/*
 * Takes a wish back. Hooks without a wish stay attached for a second, so that sessions that follow one another do not
 * attach them anew each time; hookset_release() detaches them at once.
 */
void hookset_unwant(struct hookset *hookset, const struct hookset_wish *wish);
void hookset_release(struct hookset *hookset);

/*
 * The programs that note who makes pages dirty are needed for more than sessions. They stay attached from when they are
 * held until they are let go, which does not count as a wish.
 */
void hookset_hold_dirtied(struct hookset *hookset);
void hookset_drop_dirtied(struct hookset *hookset);

/* Whether there are any wishes. */
bool hookset_wanted(const struct hookset *hookset);

/* The groups that a wish needs, as a mask with a bit for each enum probes_group. */
uint32_t hookset_groups(const struct probes *probes, const struct hookset_wish *wish);
