/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parsers of streams and filters, for the tables of Start, Set and Top: see arguments.h. The target
 * begins with a spec that has no such filter yet; `operations` needs its streams.
 */
#pragma once

#include <json-c/json.h>

#include "engine.h"

#define FILTER_PARSER(name) \
	int parse_##name(struct json_object *value, void *target, struct engine_error *error)
FILTER_PARSER(streams);
FILTER_PARSER(pids);
FILTER_PARSER(tree);
FILTER_PARSER(commands);
FILTER_PARSER(uids);
FILTER_PARSER(devices);
FILTER_PARSER(operations);
FILTER_PARSER(min_latency);
FILTER_PARSER(min_size);
FILTER_PARSER(errors);
FILTER_PARSER(cgroups);
FILTER_PARSER(units);
FILTER_PARSER(paths);
FILTER_PARSER(sample);
FILTER_PARSER(pseudo_fs);

#define FILTER_ARGUMENTS                                                                        \
	{ .name = "pids", .parse = parse_pids }, { .name = "tree", .parse = parse_tree },       \
	{ .name = "commands", .parse = parse_commands }, { .name = "uids", .parse = parse_uids }, \
	{ .name = "cgroups", .parse = parse_cgroups }, { .name = "units", .parse = parse_units }, \
	{ .name = "devices", .parse = parse_devices }, { .name = "paths", .parse = parse_paths }, \
	{ .name = "operations", .parse = parse_operations },                                    \
	{ .name = "min_latency_ns", .parse = parse_min_latency },                               \
	{ .name = "min_size", .parse = parse_min_size },                                        \
	{ .name = "errors", .parse = parse_errors },                                            \
	{ .name = "sample", .parse = parse_sample }, { .name = "pseudo_fs", .parse = parse_pseudo_fs }

/* Whether those that were read fit together. */
int filter_arguments_fit(const struct iotr_session_spec *spec, struct engine_error *error);
