// SPDX-License-Identifier: GPL-2.0-or-later
#include "filter_values.h"

#include <errno.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "tree.h"
#include "units.h"

enum {
	MAJOR_MAX = (1 << 12) - 1,
	MINOR_MAX = (1 << 20) - 1,
};

static int __attribute__((format(printf, 2, 3))) refuse(char *message, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(message, FILTER_MESSAGE_SIZE, format, arguments);
	va_end(arguments);
	return -EINVAL;
}

int filter_value_command(const char *name, char message[FILTER_MESSAGE_SIZE])
{
	if (!*name)
		return refuse(message, "a command's name is empty");
	if (strlen(name) > IOTR_COMMAND_MAX)
		return refuse(message,
			      "'%.64s' is too long: the kernel keeps the first %d bytes "
			      "of a command's name, '%.*s'",
			      name, IOTR_COMMAND_MAX, IOTR_COMMAND_MAX, name);
	return 0;
}

int filter_value_user(const char *name, uint32_t *uid, char message[FILTER_MESSAGE_SIZE])
{
	uint64_t number;
	const struct passwd *user;

	if (!iotr_parse_number(name, UINT32_MAX - 1, &number)) {
		*uid = (uint32_t)number;
		return 0;
	}
	user = *name ? getpwnam(name) : NULL;
	if (!user)
		return refuse(message, "there is no user '%.64s'", name);
	*uid = user->pw_uid;
	return 0;
}

static int parse_device_number(const char *text, uint32_t *device, char *message)
{
	const char *colon = strchr(text, ':');
	char major_text[16] = "";
	uint64_t major_number, minor_number;

	if (colon && (size_t)(colon - text) < sizeof(major_text))
		memcpy(major_text, text, (size_t)(colon - text));
	if (!colon || iotr_parse_number(major_text, MAJOR_MAX, &major_number) < 0 ||
	    iotr_parse_number(colon + 1, MINOR_MAX, &minor_number) < 0)
		return refuse(message, "'%.64s' is neither MAJOR:MINOR nor a path", text);
	*device = (uint32_t)(major_number << 20 | minor_number);
	return 0;
}

int filter_value_device(const char *text, uint32_t *device, char message[FILTER_MESSAGE_SIZE])
{
	struct stat st;

	if (*text != '/')
		return parse_device_number(text, device, message);
	if (tree_stat(text, &st) < 0)
		return refuse(message, "'%.256s': %s", text, strerror(errno));
	if (!S_ISBLK(st.st_mode))
		return refuse(message, "'%.256s' is not a block device", text);
	*device = major(st.st_rdev) << 20 | minor(st.st_rdev);
	return 0;
}

static bool path_climbs(const char *path)
{
	for (const char *at = strstr(path, ".."); at; at = strstr(at + 1, ".."))
		if ((at == path || at[-1] == '/') && (at[2] == '/' || !at[2]))
			return true;
	return false;
}

int filter_value_cgroup(const char *path, char message[FILTER_MESSAGE_SIZE])
{
	if (!*path || strlen(path) >= sizeof(iotr_path_text))
		return refuse(message, "a cgroup is a path of 1 to %zu bytes", sizeof(iotr_path_text) - 1);
	if (path_climbs(path))
		return refuse(message, "'%.256s': the path of a cgroup must not contain '..'", path);
	return 0;
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

int filter_value_unit(const char *name, char unit[IOTR_UNIT_MAX + 1], char message[FILTER_MESSAGE_SIZE])
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:-_.\\@";
	size_t length;

	if (!*name || *name == '.' || name[strspn(name, allowed)])
		return refuse(message, "'%.256s' is not the name of a unit", name);
	length = (size_t)snprintf(unit, IOTR_UNIT_MAX + 1, "%s%s", name, unit_has_ending(name) ? "" : ".service");
	if (length > IOTR_UNIT_MAX)
		return refuse(message, "a unit's name is at most %d bytes long", IOTR_UNIT_MAX);
	if (!unit_has_cgroup(name))
		return refuse(message, "'%.256s': units of this kind have no processes", name);
	return 0;
}

int filter_value_path(const char *path, char message[FILTER_MESSAGE_SIZE])
{
	if (*path != '/')
		return refuse(message, "'%.256s' is not an absolute path", path);
	if (strlen(path) >= sizeof(iotr_path_text))
		return refuse(message, "a path is at most %zu bytes long", sizeof(iotr_path_text) - 1);
	return 0;
}
