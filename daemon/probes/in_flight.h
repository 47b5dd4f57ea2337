/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counts events in flight: entries in the maps of the kernel side, each with a mask of the sessions whose
 * filters it passed when it began. Main thread.
 */
#pragma once

#include <stdint.h>

#include "control.h"
#include "probes/probes.h"

struct in_flight {
	uint64_t slots; /* session mask: slots for which an event is in flight */
	uint32_t count[IOTR_STREAM_COUNT][IOTR_SESSION_SLOTS]; /* rows that may still be made, by stream and slot */
};

#define IN_FLIGHT_NO_OPERATION UINT32_MAX
#define IN_FLIGHT_NO_FD	       (-1)

/* One event. What is not known of it is 0. */
struct in_flight_event {
	enum iotr_stream stream;
	uint32_t operation; /* index in the stream's schema, or IN_FLIGHT_NO_OPERATION */
	uint64_t since_ns;  /* CLOCK_MONOTONIC */
	uint64_t task;	    /* of a call that its thread is in: struct task_struct, by which struct iotr_task_head knows it */
	uint32_t pid, tid;  /* of other events */
	char command[16];
	int32_t fd;	    /* IN_FLIGHT_NO_FD: it is on none */
	uint32_t device;
	uint64_t sector;
};

typedef void (*in_flight_found)(const struct in_flight_event *event, void *userdata);

/*
 * Calls the function for every event in flight for one of the slots whose row is still to be made. For a slot that was removed
 * from `open` before, these are all; one that ends meanwhile may be among them.
 */
void in_flight_each(struct probes *probes, uint64_t slots, in_flight_found found, void *userdata);

/*
 * Reads all maps, which takes some milliseconds. For a slot that was removed from `open` before the call, every
 * event that is in flight on return is counted; events that end during the call may be counted, too. If a map
 * cannot be read, `slots` gets all bits.
 */
void in_flight_count(struct probes *probes, struct in_flight *ret);
