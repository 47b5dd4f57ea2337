// SPDX-License-Identifier: GPL-2.0-or-later
#include "start_arguments.h"

#include <string.h>

#include "arguments.h"
#include "filter_arguments.h"
#include "protocol.h"

static int parse_name(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;
	const char *name = NULL;
	int r = argument_session(value, &name, error);

	if (r >= 0)
		strcpy(spec->name, name);
	return r;
}

static int parse_streams(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;

	return argument_list(value, argument_stream, &spec->streams, error);
}

static int parse_duration(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;

	return argument_number(value, 0, INT64_MAX, &spec->duration_ns, error);
}

static int parse_output(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;
	const char *path = NULL;
	int r = argument_string(value, &path, error);

	if (r < 0)
		return r;
	if (*path != '/')
		return argument_refuse(error, "the path is not absolute");
	if (strlen(path) >= sizeof(spec->output))
		return argument_refuse(error, "the path is longer than %zu bytes",
				       sizeof(spec->output) - 1);
	strcpy(spec->output, path);
	return 0;
}

/* Streams stand before operations, which look at them. */
static const struct argument start_arguments[] = {
	{ .name = "name", .parse = parse_name },
	{ .name = "streams", .parse = parse_streams, .required = true },
	FILTER_ARGUMENTS,
	{ .name = "duration_ns", .parse = parse_duration },
	{ .name = "output", .parse = parse_output },
};

int start_arguments_read(struct json_object *parameters, struct iotr_session_spec *spec,
			 struct engine_error *error)
{
	int r;

	*spec = (struct iotr_session_spec){ .name = IOTR_SESSION_NAME };
	r = arguments_read(parameters, start_arguments,
			   sizeof(start_arguments) / sizeof(start_arguments[0]), spec, error);
	if (r >= 0 && spec->tree && !spec->pid_count) {
		strcpy(error->parameter, "tree");
		r = argument_refuse(error, "it needs pids, whose descendants are meant");
	}
	return r;
}
