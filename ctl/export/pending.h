/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Operations that have begun and not ended, by when they end, so that begins and ends can be written in the order of time
 * from rows that are in the order of their begins. An all-zero object is empty. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PENDING_TIME_MAX INT64_MAX /* the formats have no later one */

struct pending {
	uint64_t end_ns;
	uint64_t number; /* of the operation: what ends at the same time ends in this order */
	uint64_t bytes;
	uint64_t track; /* this and the next are numbers of the format's own */
	uint32_t file;
};

struct pending_list {
	struct pending *heap; /* the first to end comes first */
	size_t count, room;
};

/* Returns 0 or -ENOMEM. */
int pending_add(struct pending_list *list, struct pending one);

/*
 * The time to write of an event, as all are in the order of time: one that comes late has the time of the one before, which
 * `reached_ns` keeps.
 */
uint64_t pending_reach(uint64_t *reached_ns, uint64_t ns);

/* Takes the first, if it ends at `until_ns` or before. */
bool pending_take(struct pending_list *list, uint64_t until_ns, struct pending *ret);
void pending_done(struct pending_list *list);
