/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counts events in flight: entries in the maps of the kernel side, each with a mask of the sessions whose
 * filters it passed when it began. Main thread.
 */
#pragma once

#include <stdint.h>

#include "probes/probes.h"

struct in_flight {
	uint64_t slots; /* session mask: slots for which an event is in flight */
	uint32_t count[IOTR_STREAM_COUNT][IOTR_SESSION_SLOTS]; /* rows that may still be made, by stream and slot */
};

/*
 * Reads all maps, which takes some milliseconds. For a slot that was removed from `open` before the call, every
 * event that is in flight on return is counted; events that end during the call may be counted, too. If a map
 * cannot be read, `slots` gets all bits.
 */
void in_flight_count(struct probes *probes, struct in_flight *ret);
