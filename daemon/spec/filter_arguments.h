/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Streams and filters in the tables of Start, Set and Top: see arguments.h. The target begins with a spec in
 * which these filters are empty; `operations` needs its streams.
 */
#pragma once

#include <stddef.h>

#include "arguments.h"
#include "session_spec.h"

#define SPEC_OFFSET(field) offsetof(struct iotr_session_spec, field)

#define STREAMS_ARGUMENT                                                                        \
	{ .name = "streams", .parse = argument_streams, .offset = SPEC_OFFSET(streams),         \
	  .required = true }

#define FILTER_PARSER(name) \
	int parse_##name(struct json_object *value, void *target, struct engine_error *error)
FILTER_PARSER(pids);
FILTER_PARSER(commands);
FILTER_PARSER(uids);
FILTER_PARSER(devices);
FILTER_PARSER(operations);
FILTER_PARSER(cgroups);
FILTER_PARSER(units);
FILTER_PARSER(paths);
FILTER_PARSER(sample);

#define FILTER_ARGUMENTS                                                                        \
	{ .name = "pids", .parse = parse_pids },                                                \
	{ .name = "tree", .parse = argument_flag, .offset = SPEC_OFFSET(tree) },                \
	{ .name = "commands", .parse = parse_commands },                                        \
	{ .name = "uids", .parse = parse_uids },                                                \
	{ .name = "cgroups", .parse = parse_cgroups },                                          \
	{ .name = "units", .parse = parse_units },                                              \
	{ .name = "devices", .parse = parse_devices },                                          \
	{ .name = "paths", .parse = parse_paths },                                              \
	{ .name = "operations", .parse = parse_operations },                                    \
	{ .name = "min_latency_ns", .parse = argument_count, .offset = SPEC_OFFSET(min_latency_ns) }, \
	{ .name = "min_size", .parse = argument_count, .offset = SPEC_OFFSET(min_size) },       \
	{ .name = "errors", .parse = argument_flag, .offset = SPEC_OFFSET(errors) },            \
	{ .name = "sample", .parse = parse_sample },                                            \
	{ .name = "pseudo_fs", .parse = argument_flag, .offset = SPEC_OFFSET(pseudo_fs) }

/* Checks whether the filters are compatible with one another and with the streams. */
int filter_arguments_fit(const struct iotr_session_spec *spec, struct engine_error *error);
