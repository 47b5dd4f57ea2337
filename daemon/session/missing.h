/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which operations this kernel lets the daemon see, and by which hooks, as JSON; when the programs are loaded. Main thread. */
#pragma once

#include <json-c/json.h>

#include "probes/hookset.h"
#include "session_spec.h"

/*
 * Adds what a session cannot record to the array: {"stream", "operation", "reason"}; and with "hook" and an empty operation what
 * its rows do not tell.
 */
void missing_describe(const struct probes *probes, const struct iotr_session_spec *spec, struct json_object *missing);

/* Adds hooks that could not be attached, of those that are wished for, and are not told of in the array. */
void missing_add_failures(const struct probes *probes, const struct hookset_wish *wish, struct json_object *missing);

/* New array: the stream's operations, each with its hook or the reason why there is none. */
struct json_object *missing_operations(const struct probes *probes, enum iotr_stream stream);

/* New object with such an array for each of the streams, a mask with a bit for each enum iotr_stream. */
struct json_object *missing_hooks(const struct probes *probes, uint32_t streams);
