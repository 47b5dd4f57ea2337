/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks whether rows can pass the filters of a session at all. Main thread only; nothing here reads more than
 * /proc and /sys.
 */
#pragma once

#include <json-c/json.h>

#include "error.h"
#include "session_spec.h"

/*
 * -EINVAL, with the parameter: according to the facts of its streams' rows (see streams.def), no row of
 * the session can ever pass the filters. A path filter is refused even if only one of several streams has no
 * files.
 */
int filter_fit(const struct iotr_session_spec *spec, struct engine_error *error);

/* -EINVAL, with the parameter: a stream is sampled that the session does not have. */
int filter_fit_sample(const struct iotr_session_spec *spec, struct engine_error *error);

/* What a session with --path does not see, as a sentence; NULL: nothing. */
const char *filter_unseen(const struct iotr_session_spec *spec);

/*
 * Compares the filters with the present state of this machine. -EINVAL: none of the processes exists. Adds a
 * sentence to `warnings`, an array, for each part of the definition that gives no rows, or none now, while
 * other parts may.
 */
int filter_fit_now(const struct iotr_session_spec *spec, struct json_object *warnings,
		   struct engine_error *error);
