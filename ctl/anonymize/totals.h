/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <json-c/json.h>
#include <stdint.h>

/* What was written, and what was left out. */
struct anonymize_totals {
	uint64_t segments, rows; /* of the streams */
	uint64_t snapshots;	 /* number of files of snapshots */
	uint64_t bytes, stored;	 /* of text; on disk */
	struct json_object *left_out; /* files that were not copied, as paths in the trace */
};
