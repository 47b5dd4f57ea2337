// SPDX-License-Identifier: GPL-2.0-or-later
#include "filter_arguments.h"

#include <stdlib.h>
#include <string.h>

#include "disk_files.h"
#include "filter_fit.h"
#include "filter_values.h"

_Static_assert(sizeof(((struct engine_error *)0)->message) == FILTER_MESSAGE_SIZE, "messages are written in place");

/* Allocates room for all elements of the array, and calls `add` for each. */
static int read_list(struct json_object *value, struct iotr_session_spec *spec, void *array, size_t element,
		     int (*add)(struct json_object *value, void *spec, struct engine_error *error),
		     struct engine_error *error)
{
	size_t length =
		json_object_is_type(value, json_type_array) ? json_object_array_length(value) : 0;
	void *memory = calloc(length ?: 1, element);

	if (!memory)
		return argument_refuse(error, "out of memory");
	*(void **)array = memory;
	return argument_list(value, add, spec, error);
}

static int add_pid(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;
	uint64_t pid;
	int r = argument_number(value, 1, ARGUMENT_PID_MAX, &pid, error);

	if (r >= 0)
		spec->pids[spec->pid_count++] = (uint32_t)pid;
	return r;
}

int argument_pids(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;

	return read_list(value, spec, &spec->pids, sizeof(*spec->pids), add_pid, error);
}

static int add_command(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;
	const char *name = NULL;
	int r = argument_string(value, &name, error);

	if (r >= 0)
		r = filter_value_command(name, error->message);
	if (r >= 0)
		strcpy(spec->commands[spec->command_count++], name);
	return r;
}

int argument_commands(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;

	return read_list(value, spec, &spec->commands, sizeof(*spec->commands), add_command, error);
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
	r = filter_value_user(name, &spec->uids[spec->uid_count], error->message);
	if (r >= 0)
		spec->uid_count++;
	return r;
}

int argument_uids(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;

	return read_list(value, spec, &spec->uids, sizeof(*spec->uids), add_uid, error);
}

static int add_device(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;
	const char *path = NULL;
	int r = argument_string(value, &path, error);

	if (r >= 0)
		r = filter_value_device(path, &spec->devices[spec->device_count], error->message);
	if (r >= 0)
		spec->device_count++;
	return r;
}

/*
 * Adds the device numbers of file systems on the named disks whose files have numbers other than the disk's.
 */
static int add_disk_files(struct iotr_session_spec *spec, struct engine_error *error)
{
	const size_t named = spec->device_count;
	uint32_t found[DISK_FILES_MAX], *more;
	size_t count;

	for (size_t i = 0; i < named; i++) {
		count = disk_files(spec->devices[i], found);
		if (!count)
			continue;
		more = realloc(spec->devices, (spec->device_count + count) * sizeof(*more));
		if (!more)
			return argument_refuse(error, "out of memory");
		spec->devices = more;
		memcpy(more + spec->device_count, found, count * sizeof(*more));
		spec->device_count += count;
		spec->device_found += count;
	}
	return 0;
}

int argument_devices(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;
	int r = read_list(value, spec, &spec->devices, sizeof(*spec->devices), add_device, error);

	return r < 0 ? r : add_disk_files(spec, error);
}

static int add_cgroup(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;
	const char *path = NULL;
	int r = argument_string(value, &path, error);

	if (r >= 0)
		r = filter_value_cgroup(path, error->message);
	if (r >= 0)
		strcpy(spec->cgroups[spec->cgroup_count++], path);
	return r;
}

int argument_cgroups(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;

	return read_list(value, spec, &spec->cgroups, sizeof(*spec->cgroups), add_cgroup, error);
}

static int add_unit(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;
	const char *name = NULL;
	int r = argument_string(value, &name, error);

	if (r >= 0)
		r = filter_value_unit(name, spec->units[spec->unit_count], error->message);
	if (r >= 0)
		spec->unit_count++;
	return r;
}

int argument_units(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;

	return read_list(value, spec, &spec->units, sizeof(*spec->units), add_unit, error);
}

static int add_path(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;
	const char *path = NULL;
	int r = argument_string(value, &path, error);

	if (r >= 0)
		r = filter_value_path(path, error->message);
	if (r >= 0)
		strcpy(spec->paths[spec->path_count++], path);
	return r;
}

int argument_paths(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;

	return read_list(value, spec, &spec->paths, sizeof(*spec->paths), add_path, error);
}

int filter_arguments_fit(const struct iotr_session_spec *spec, struct engine_error *error)
{
	int r;

	if (spec->tree && !spec->pid_count) {
		strcpy(error->parameter, "tree");
		return argument_refuse(error, "it needs pids, the processes whose descendants are followed");
	}
	r = filter_fit_sample(spec, error);
	return r < 0 ? r : filter_fit(spec, error);
}
