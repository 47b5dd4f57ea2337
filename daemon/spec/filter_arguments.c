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
		return argument_refuse(error, "out of memory");
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

int argument_commands(struct json_object *value, void *target, struct engine_error *error)
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

int argument_uids(struct json_object *value, void *target, struct engine_error *error)
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
		return argument_refuse(error, "'%.256s': the path of a cgroup must not contain '..'", path);
	strcpy(spec->cgroups[spec->cgroup_count++], path);
	return 0;
}

int argument_cgroups(struct json_object *value, void *target, struct engine_error *error)
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
		return argument_refuse(error, "'%.256s' is not the name of a unit", name);
	length = (size_t)snprintf(spec->units[spec->unit_count], sizeof(*spec->units), "%s%s", name,
				  unit_has_ending(name) ? "" : ".service");
	if (length >= sizeof(*spec->units))
		return argument_refuse(error, "a unit's name is at most %d bytes long", IOTR_UNIT_MAX);
	if (!unit_has_cgroup(name))
		return argument_refuse(error, "'%.256s': units of this kind have no processes", name);
	spec->unit_count++;
	return 0;
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

	if (r < 0)
		return r;
	if (*path != '/')
		return argument_refuse(error, "'%.256s' is not an absolute path", path);
	if (strlen(path) >= sizeof(*spec->paths))
		return argument_refuse(error, "a path is at most %zu bytes long", sizeof(*spec->paths) - 1);
	strcpy(spec->paths[spec->path_count++], path);
	return 0;
}

int argument_paths(struct json_object *value, void *target, struct engine_error *error)
{
	struct iotr_session_spec *spec = target;

	return read_list(value, spec, &spec->paths, sizeof(*spec->paths), add_path, error);
}

int filter_arguments_fit(const struct iotr_session_spec *spec, struct engine_error *error)
{
	if (spec->tree && !spec->pid_count) {
		strcpy(error->parameter, "tree");
		return argument_refuse(error, "it needs pids, the processes whose descendants are followed");
	}
	return filter_fit(spec, error);
}
