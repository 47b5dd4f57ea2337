// SPDX-License-Identifier: GPL-2.0-or-later
#include "filter_arguments.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "disk_files.h"
#include "filter_fit.h"
#include "nearest.h"
#include "schema.h"
#include "units.h"

enum {
	PID_MAX = 1 << 22, /* the kernel's own limit */
	MAJOR_MAX = (1 << 12) - 1,
	MINOR_MAX = (1 << 20) - 1,
};

/* Allocates room for all elements of the array, and calls `add` for each. */
static int read_list(struct json_object *value, struct iotr_session_spec *spec, void *array, size_t element,
		     int (*add)(struct json_object *value, void *spec, struct engine_error *error),
		     struct engine_error *error)
{
	size_t length =
		json_object_is_type(value, json_type_array) ? json_object_array_length(value) : 0;
	void *memory = calloc(length ?: 1, element);

	if (!memory)
		return argument_refuse(error, "there is no memory for the list");
	*(void **)array = memory;
	return argument_list(value, add, spec, error);
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

int parse_pids(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;

	return read_list(value, spec, &spec->pids, sizeof(*spec->pids), add_pid, error);
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

int parse_commands(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;

	return read_list(value, spec, &spec->commands, sizeof(*spec->commands), add_command, error);
}

/* Finds a user by name, or by number, which no database needs to contain. */
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

int parse_uids(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;

	return read_list(value, spec, &spec->uids, sizeof(*spec->uids), add_uid, error);
}

/* Parses "8:1". The number is used as it is, because some file systems have numbers without a device file. */
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
			return argument_refuse(error, "there is no memory for the list");
		spec->devices = more;
		memcpy(more + spec->device_count, found, count * sizeof(*more));
		spec->device_count += count;
		spec->device_found += count;
	}
	return 0;
}

int parse_devices(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;
	int r = read_list(value, spec, &spec->devices, sizeof(*spec->devices), add_device, error);

	return r < 0 ? r : add_disk_files(spec, error);
}

/* Sets the operation's bit for each of the streams that has such an operation. */
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

/*
 * Writes "there are READ, WRITE" for these streams, or a reference to the list if there are too many for a
 * sentence.
 */
static void tell_operations(uint32_t streams, char *text, size_t size)
{
	size_t at = 0;

	for (int stream = 0; stream < IOTR_STREAM_COUNT; stream++) {
		const struct iotr_schema *schema = &iotr_schemas[stream];

		for (size_t i = 0; streams >> stream & 1 && i < schema->operation_count; i++) {
			at += (size_t)snprintf(text + at, size - at, "%s%s", at ? ", " : "there are ",
					       schema->operations[i]);
			if (at < size)
				continue;
			snprintf(text, size, "'iotracectl streams' shows those there are");
			return;
		}
	}
}

/* Writes "iouring, net": the streams that have such an operation; "": there are none. */
static void tell_owners(const char *name, char *text, size_t size)
{
	size_t at = 0;

	*text = '\0';
	for (int stream = 0; stream < IOTR_STREAM_COUNT && at < size; stream++)
		if (iotr_operation_find((enum iotr_stream)stream, name) >= 0)
			at += (size_t)snprintf(text + at, size - at, "%s%s", at ? ", " : "",
					       iotr_schemas[stream].flag);
}

/* Explains why the streams have no such operation: others have it, or it is a typing error. */
static int refuse_operation(struct engine_error *error, uint32_t streams, const char *name)
{
	struct iotr_nearest nearest = { .word = name };
	char owners[128], all[400] = "";

	tell_owners(name, owners, sizeof(owners));
	if (*owners)
		return argument_refuse(error, "'%.64s' is an operation of other streams: %s", name, owners);
	for (int stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		for (size_t i = 0; streams >> stream & 1 && i < iotr_schemas[stream].operation_count; i++)
			iotr_nearest_try(&nearest, iotr_schemas[stream].operations[i]);
	tell_operations(streams, all, sizeof(all));
	return argument_refuse(error, "no stream of the session has an operation '%.64s'%s%s%s: %s", name,
			       nearest.best ? ", did you mean '" : "", nearest.best ?: "",
			       nearest.best ? "'?" : "", all);
}

/* Refuses the part before the dot, as it is none of the session's streams. */
static int refuse_stream(struct engine_error *error, const char *text, size_t length)
{
	char flag[65];

	snprintf(flag, sizeof(flag), "%.*s", (int)(length > 64 ? 64 : length), text);
	if (iotr_stream_find(flag) < 0)
		return argument_no_stream(error, flag);
	return argument_refuse(error, "'%.64s': the session has no stream '%s'", text, flag);
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
		return refuse_stream(error, text, (size_t)(dot - text));
	if (!set_operation(spec, streams, dot ? dot + 1 : text))
		return refuse_operation(error, streams, dot ? dot + 1 : text);
	return 0;
}

int parse_operations(struct json_object *value, void *target, struct engine_error *error)
{
	return argument_list(value, add_operation, target, error);
}

static bool path_climbs(const char *path)
{
	for (const char *at = strstr(path, ".."); at; at = strstr(at + 1, ".."))
		if ((at == path || at[-1] == '/') && (at[2] == '/' || !at[2]))
			return true;
	return false;
}

/* Kinds of units by the ending of their name, and whether systemd creates a cgroup for them. */
static const struct {
	const char *ending;
	bool cgroup;
} unit_kinds[] = {
	{ ".service", true }, { ".scope", true },   { ".slice", true },	   { ".socket", true },
	{ ".mount", true },   { ".swap", true },    { ".target", false },  { ".timer", false },
	{ ".path", false },   { ".device", false }, { ".automount", false },
};

enum { UNIT_KINDS = sizeof(unit_kinds) / sizeof(unit_kinds[0]) };

static size_t unit_kind(const char *name)
{
	const char *ending = strrchr(name, '.');
	size_t i = 0;

	while (i < UNIT_KINDS && (!ending || strcmp(ending, unit_kinds[i].ending)))
		i++;
	return i;
}

static bool unit_has_ending(const char *name)
{
	return unit_kind(name) < UNIT_KINDS;
}

static bool unit_has_cgroup(const char *name)
{
	return !unit_has_ending(name) || unit_kinds[unit_kind(name)].cgroup;
}

/* A path relative to the mount point of cgroup v2, or as in /proc/PID/cgroup. */
static int add_cgroup(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;
	const char *path = NULL;
	int r = argument_string(value, &path, error);

	if (r < 0)
		return r;
	if (!*path || strlen(path) >= sizeof(*spec->cgroups))
		return argument_refuse(error, "a cgroup is a path of 1 to %zu bytes", sizeof(*spec->cgroups) - 1);
	if (path_climbs(path))
		return argument_refuse(error, "'%.256s': a cgroup's path has no '..'", path);
	strcpy(spec->cgroups[spec->cgroup_count++], path);
	return 0;
}

int parse_cgroups(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;

	return read_list(value, spec, &spec->cgroups, sizeof(*spec->cgroups), add_cgroup, error);
}

/* The name of a unit; one without an ending is a service. */
static int add_unit(struct json_object *value, void *target, struct engine_error *error)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:-_.\\@";
	struct iotr_session_spec *spec = target;
	const char *name = NULL;
	int r = argument_string(value, &name, error);
	size_t length;

	if (r < 0)
		return r;
	if (!*name || *name == '.' || name[strspn(name, allowed)])
		return argument_refuse(error, "'%.256s' is no name of a unit", name);
	length = (size_t)snprintf(spec->units[spec->unit_count], sizeof(*spec->units), "%s%s", name,
				  unit_has_ending(name) ? "" : ".service");
	if (length >= sizeof(*spec->units))
		return argument_refuse(error, "a unit's name has %d bytes at most", IOTR_UNIT_MAX);
	if (!unit_has_cgroup(name))
		return argument_refuse(error, "'%.256s': units of this kind have no processes", name);
	spec->unit_count++;
	return 0;
}

int parse_units(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;

	return read_list(value, spec, &spec->units, sizeof(*spec->units), add_unit, error);
}

static int add_path(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;
	const char *path = NULL;
	int r = argument_string(value, &path, error);

	if (r < 0)
		return r;
	if (*path != '/')
		return argument_refuse(error, "'%.256s' is no absolute path", path);
	if (strlen(path) >= sizeof(*spec->paths))
		return argument_refuse(error, "a path has %zu bytes at most", sizeof(*spec->paths) - 1);
	strcpy(spec->paths[spec->path_count++], path);
	return 0;
}

int parse_paths(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;

	return read_list(value, spec, &spec->paths, sizeof(*spec->paths), add_path, error);
}

/* Parses {"cache": 10}: one event in 10. */
int parse_sample(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;

	if (!json_object_is_type(value, json_type_object))
		return argument_refuse(error, "it is no object of streams and numbers");
	json_object_object_foreach(value, flag, number)
	{
		int stream = iotr_stream_find(flag);
		uint64_t sample;

		if (stream < 0)
			return argument_no_stream(error, flag);
		if (argument_number(number, 1, IOTR_SAMPLE_MAX, &sample, error) < 0)
			return argument_refuse(error, "%s: one in N events, N from 1 to %d", flag,
					       IOTR_SAMPLE_MAX);
		spec->sample[stream] = (uint32_t)sample;
	}
	return 0;
}

int filter_arguments_fit(const struct iotr_session_spec *spec, struct engine_error *error)
{
	if (spec->tree && !spec->pid_count) {
		strcpy(error->parameter, "tree");
		return argument_refuse(error, "it needs pids, whose descendants are meant");
	}
	return filter_fit(spec, error);
}
