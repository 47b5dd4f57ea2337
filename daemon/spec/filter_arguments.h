/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Streams and filters in the tables of Start, Set and Top: see arguments.h. The target begins with a spec in
 * which these filters are empty; `operations` needs its streams.
 */
#pragma once

#include <stddef.h>

#include "session_spec.h"
#include "stream_arguments.h"

#define SPEC_OFFSET(field) offsetof(struct iotr_session_spec, field)

#define STREAMS_ARGUMENT \
	{ .name = "streams", .parse = argument_streams, .offset = SPEC_OFFSET(streams), .required = true }

#define FILTER_PARSER(name) \
	int argument_##name(struct json_object *value, void *target, struct engine_error *error)
FILTER_PARSER(pids);
FILTER_PARSER(commands);
FILTER_PARSER(uids);
FILTER_PARSER(devices);
FILTER_PARSER(cgroups);
FILTER_PARSER(units);
FILTER_PARSER(paths);

#define FILTER_OF_NUMBERS(name_)    { .name = #name_, .parse = argument_##name_ },
#define FILTER_OF_TEXTS(name_)	    FILTER_OF_NUMBERS(name_)
#define FILTER_OF_DEVICES(name_)    FILTER_OF_NUMBERS(name_)
#define FILTER_OF_OPERATIONS(name_) FILTER_OF_NUMBERS(name_)
#define FILTER_OF_SAMPLE(name_)	    FILTER_OF_NUMBERS(name_)
#define FILTER_OF_FLAG(name_)	    { .name = #name_, .parse = argument_flag, .offset = SPEC_OFFSET(name_) },
#define FILTER_OF_COUNT(name_)	    { .name = #name_, .parse = argument_count, .offset = SPEC_OFFSET(name_) },
#define FILTER_ARGUMENT(id, name, kind, ...) FILTER_OF_##kind(name)

/* Each row ends with a comma. */
#define FILTER_ARGUMENTS IOTR_FILTERS(FILTER_ARGUMENT)

/* Checks whether the filters are compatible with one another and with the streams. */
int filter_arguments_fit(const struct iotr_session_spec *spec, struct engine_error *error);
