/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums over all sessions since the daemon's start, those that have ended included. Main thread. */
#pragma once

#include <json-c/json.h>

#include "pipeline/writer/losses.h"
#include "session/registry.h"

struct totals_stream {
	uint64_t rows, bytes, lost_names;
	uint64_t lost[LOSS_CAUSES];
};

struct totals {
	struct totals_stream ended[IOTR_STREAM_COUNT]; /* of those that have ended */
	struct totals_stream told[IOTR_STREAM_COUNT];  /* the most that was told: nothing told is ever less */
	uint64_t count;				       /* of those that have ended */
};

/* The session has ended, and is asked for nothing any more. */
void totals_add(struct totals *totals, const struct session *session);

/* New object: for each stream by its name {rows, bytes, lost: {ring, queue, disk, unmatched, names}}. */
struct json_object *totals_describe(struct totals *totals, const struct registry *registry);
