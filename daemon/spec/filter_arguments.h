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

#define FILTER_ARGUMENTS \
	{ .name = "pids", .parse = argument_pids }, \
	{ .name = "tree", .parse = argument_flag, .offset = SPEC_OFFSET(tree) }, \
	{ .name = "commands", .parse = argument_commands }, \
	{ .name = "uids", .parse = argument_uids }, \
	{ .name = "cgroups", .parse = argument_cgroups }, \
	{ .name = "units", .parse = argument_units }, \
	{ .name = "devices", .parse = argument_devices }, \
	{ .name = "paths", .parse = argument_paths }, \
	{ .name = "operations", .parse = argument_operations }, \
	{ .name = "min_latency_ns", .parse = argument_count, .offset = SPEC_OFFSET(min_latency_ns) }, \
	{ .name = "min_size", .parse = argument_count, .offset = SPEC_OFFSET(min_size) }, \
	{ .name = "errors", .parse = argument_flag, .offset = SPEC_OFFSET(errors) }, \
	{ .name = "sample", .parse = argument_sample }, \
	{ .name = "pseudo_fs", .parse = argument_flag, .offset = SPEC_OFFSET(pseudo_fs) }

/* Checks whether the filters are compatible with one another and with the streams. */
int filter_arguments_fit(const struct iotr_session_spec *spec, struct engine_error *error);
