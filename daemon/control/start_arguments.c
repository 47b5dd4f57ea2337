// SPDX-License-Identifier: GPL-2.0-or-later
#include "start_arguments.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "protocol.h"
#include "schema.h"
#include "snapshot_arguments.h"
#include "units.h"

enum {
	PID_MAX = 1 << 22, /* the kernel's own limit */
	MAJOR_MAX = (1 << 12) - 1,
	MINOR_MAX = (1 << 20) - 1,
};

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

/* Room for as many values as the list has, before argument_list() walks it. */
static int reserve(struct json_object *value, void *array, size_t element,
		   struct engine_error *error)
{
	size_t length =
		json_object_is_type(value, json_type_array) ? json_object_array_length(value) : 0;
	void *memory = calloc(length ?: 1, element);

	if (!memory)
		return argument_refuse(error, "there is no memory for the list");
	*(void **)array = memory;
	return 0;
}

static int add_pid(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;
	uint64_t pid;
	int r = argument_number(value, 1, PID_MAX, &pid, error);

	if (r >= 0)
		spec->pids[spec->pid_count++] = (uint32_t)pid;
	return r;
}

static int parse_pids(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;
	int r = reserve(value, &spec->pids, sizeof(*spec->pids), error);

	return r < 0 ? r : argument_list(value, add_pid, spec, error);
}

static int parse_tree(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;
	int r = argument_flag(value, &spec->tree, error);

	if (r >= 0 && spec->tree && !spec->pid_count)
		return argument_refuse(error, "it needs pids, whose descendants are meant");
	return r;
}

static int add_command(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;
	const char *name = NULL;
	int r = argument_string(value, &name, error);

	if (r < 0)
		return r;
	if (!*name)
		return argument_refuse(error, "a command's name is empty");
	if (strlen(name) > IOTR_COMMAND_MAX)
		return argument_refuse(error,
				       "'%.64s' is too long: the kernel keeps the first %d bytes "
				       "of a command's name, '%.*s'",
				       name, IOTR_COMMAND_MAX, IOTR_COMMAND_MAX, name);
	strcpy(spec->commands[spec->command_count++], name);
	return 0;
}

static int parse_commands(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;
	int r = reserve(value, &spec->commands, sizeof(*spec->commands), error);

	return r < 0 ? r : argument_list(value, add_command, spec, error);
}

/* A user by number, also one that no database knows, or by name. */
static int find_user(const char *name, uint32_t *uid, struct engine_error *error)
{
	uint64_t number;
	const struct passwd *user;

	if (!iotr_parse_number(name, UINT32_MAX - 1, &number)) {
		*uid = (uint32_t)number;
		return 0;
	}
	user = *name ? getpwnam(name) : NULL;
	if (!user)
		return argument_refuse(error, "there is no user '%.64s'", name);
	*uid = user->pw_uid;
	return 0;
}

static int add_uid(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;
	const char *name = NULL;
	uint64_t number;
	int r;

	if (json_object_is_type(value, json_type_int)) {
		r = argument_number(value, 0, UINT32_MAX - 1, &number, error);
		if (r >= 0)
			spec->uids[spec->uid_count++] = (uint32_t)number;
		return r;
	}
	r = argument_string(value, &name, error);
	if (r < 0)
		return argument_refuse(error, "a user is a number or a name");
	r = find_user(name, &spec->uids[spec->uid_count], error);
	if (r >= 0)
		spec->uid_count++;
	return r;
}

static int parse_uids(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;
	int r = reserve(value, &spec->uids, sizeof(*spec->uids), error);

	return r < 0 ? r : argument_list(value, add_uid, spec, error);
}

/* "8:1": taken as it is, for file systems have numbers that no device file does. */
static int parse_device_number(const char *text, uint32_t *device, struct engine_error *error)
{
	const char *colon = strchr(text, ':');
	char major_text[16] = "";
	uint64_t major_number, minor_number;

	if (colon && (size_t)(colon - text) < sizeof(major_text))
		memcpy(major_text, text, (size_t)(colon - text));
	if (!colon || iotr_parse_number(major_text, MAJOR_MAX, &major_number) < 0 ||
	    iotr_parse_number(colon + 1, MINOR_MAX, &minor_number) < 0)
		return argument_refuse(error, "'%.64s' is neither MAJOR:MINOR nor a path", text);
	*device = (uint32_t)(major_number << 20 | minor_number);
	return 0;
}

static int find_device(const char *path, uint32_t *device, struct engine_error *error)
{
	struct stat st;

	if (*path != '/')
		return parse_device_number(path, device, error);
	if (stat(path, &st) < 0)
		return argument_refuse(error, "'%.256s': %s", path, strerror(errno));
	if (!S_ISBLK(st.st_mode))
		return argument_refuse(error, "'%.256s' is not a block device", path);
	*device = major(st.st_rdev) << 20 | minor(st.st_rdev);
	return 0;
}

static int add_device(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;
	const char *path = NULL;
	int r = argument_string(value, &path, error);

	if (r >= 0)
		r = find_device(path, &spec->devices[spec->device_count], error);
	if (r >= 0)
		spec->device_count++;
	return r;
}

static int parse_devices(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;
	int r = reserve(value, &spec->devices, sizeof(*spec->devices), error);

	return r < 0 ? r : argument_list(value, add_device, spec, error);
}

/* Sets the operation's bit in those of the streams that have it. */
static bool set_operation(struct iotr_session_spec *spec, uint32_t streams, const char *name)
{
	bool found = false;

	for (int stream = 0; stream < IOTR_STREAM_COUNT; stream++) {
		int operation = iotr_operation_find((enum iotr_stream)stream, name);

		if (!(streams & 1u << stream) || operation < 0)
			continue;
		iotr_operations_add(&spec->operations[stream], (unsigned int)operation);
		found = true;
	}
	return found;
}

static int add_operation(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;
	const char *text = NULL, *dot;
	uint32_t streams = spec->streams;
	int r = argument_string(value, &text, error);

	if (r < 0)
		return r;
	dot = strchr(text, '.');
	for (int stream = 0; dot && stream < IOTR_STREAM_COUNT; stream++) {
		const char *flag = iotr_schemas[stream].flag;

		if (strlen(flag) != (size_t)(dot - text) || strncmp(flag, text, strlen(flag)))
			streams &= ~(1u << stream);
	}
	if (!streams)
		return argument_refuse(error, "'%.64s': the session has no stream '%.*s'", text,
				       (int)(dot - text > 64 ? 64 : dot - text), text);
	if (!set_operation(spec, streams, dot ? dot + 1 : text))
		return argument_refuse(error, "no stream of the session has an operation '%.64s'",
				       dot ? dot + 1 : text);
	return 0;
}

static int parse_operations(struct json_object *value, void *target, struct engine_error *error)
{
	return argument_list(value, add_operation, target, error);
}

static int parse_min_latency(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;

	return argument_number(value, 0, INT64_MAX, &spec->min_latency_ns, error);
}

static int parse_min_size(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;

	return argument_number(value, 0, INT64_MAX, &spec->min_size, error);
}

static int parse_errors(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;

	return argument_flag(value, &spec->errors, error);
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

/* Streams stand before operations and pids before tree, which look at them. */
static const struct argument start_arguments[] = {
	{ .name = "name", .parse = parse_name },
	{ .name = "streams", .parse = parse_streams, .required = true },
	{ .name = "pids", .parse = parse_pids },
	{ .name = "tree", .parse = parse_tree },
	{ .name = "commands", .parse = parse_commands },
	{ .name = "uids", .parse = parse_uids },
	{ .name = "devices", .parse = parse_devices },
	{ .name = "operations", .parse = parse_operations },
	{ .name = "min_latency_ns", .parse = parse_min_latency },
	{ .name = "min_size", .parse = parse_min_size },
	{ .name = "errors", .parse = parse_errors },
	{ .name = "duration_ns", .parse = parse_duration },
	{ .name = "output", .parse = parse_output },
	{ .name = "snapshots", .parse = snapshot_arguments_all },
	{ .name = "snapshot_system", .parse = snapshot_arguments_system },
	{ .name = "snapshot_process_ns", .parse = snapshot_arguments_process },
	{ .name = "snapshot_filesystem_ns", .parse = snapshot_arguments_filesystem },
	{ .name = "snapshot_root", .parse = snapshot_arguments_root },
	{ .name = "snapshot_depth", .parse = snapshot_arguments_depth },
};

int start_arguments_read(struct json_object *parameters, struct iotr_session_spec *spec,
			 struct engine_error *error)
{
	*spec = (struct iotr_session_spec){ .name = IOTR_SESSION_NAME };
	return arguments_read(parameters, start_arguments,
			      sizeof(start_arguments) / sizeof(start_arguments[0]), spec, error);
}
