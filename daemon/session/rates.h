/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rates per second: rows and bytes of each stream, CPU time. While sessions run, counters are sampled every
 * second and the last two samples are kept. A rate is taken over the time since the newer sample that is at
 * least half a second old, so over 0.5 to 1.5 seconds, or since the beginning. Main thread.
 */
#pragma once

#include <json-c/json.h>

#include "events.h"

struct session;

/* Counters at one instant. */
struct rate_sample {
	uint64_t mono_ns;
	uint64_t cpu_ns;
	uint64_t rows[IOTR_STREAM_COUNT];
	uint64_t bytes[IOTR_STREAM_COUNT];
};

struct rates {
	struct rate_sample last, before;
};

/* Begins with a first sample, or takes the next one: of a session, or of the daemon's CPU time. */
void rates_begin(struct session *session);
void rates_take(struct session *session);
void rates_begin_daemon(struct rates *rates);
void rates_take_daemon(struct rates *rates);

/* Adds rates to the streams of a running session's status, what is left of its limits, and its writer's CPU time. */
void rates_describe(const struct session *session, struct json_object *status);

/* Adds the daemon's CPU time, and its rate. */
void rates_describe_daemon(const struct rates *rates, struct json_object *cost);
