// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "escape.h"
#include "system.h"
#include "text.h"

#define FILE_MAX 65536

static void path_of(char path[PATH_MAX], const char *root, const char *format, va_list arguments)
{
	int length = snprintf(path, PATH_MAX, "%s", root);

	vsnprintf(path + length, PATH_MAX - (size_t)length, format, arguments);
}

static char *strip(char *text)
{
	size_t length = strlen(text), lead = strspn(text, " \t\n");

	while (length > lead && isspace((unsigned char)text[length - 1]))
		length--;
	memmove(text, text + lead, length - lead);
	text[length - lead] = '\0';
	return text;
}

char *system_read(const char *root, const char *format, ...)
{
	_cleanup_free_ char *text = malloc(FILE_MAX);
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX];
	va_list arguments;
	size_t used = 0;
	ssize_t n = 0;

	va_start(arguments, format);
	path_of(path, root, format, arguments);
	va_end(arguments);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || !text)
		return NULL;
	while (used < FILE_MAX - 1 && (n = read(fd, text + used, FILE_MAX - 1 - used)) > 0)
		used += (size_t)n;
	if (n < 0 && !used)
		return NULL;
	text[used] = '\0';
	return strdup(strip(text));
}

char *system_link(const char *root, const char *format, ...)
{
	char path[PATH_MAX], target[PATH_MAX];
	va_list arguments;
	const char *slash;
	ssize_t length;

	va_start(arguments, format);
	path_of(path, root, format, arguments);
	va_end(arguments);
	length = readlink(path, target, sizeof(target) - 1);
	if (length < 0)
		return NULL;
	target[length] = '\0';
	slash = strrchr(target, '/');
	return strdup(slash ? slash + 1 : target);
}

static int compare_names(const void *left, const void *right)
{
	return strverscmp(*(char *const *)left, *(char *const *)right);
}

char **system_names(const char *root, const char *folder)
{
	char path[PATH_MAX], **names = calloc(1, sizeof(*names));
	const struct dirent *entry;
	size_t count = 0;
	DIR *stream;

	snprintf(path, sizeof(path), "%s%s", root, folder);
	stream = opendir(path);
	while (names && stream && (entry = readdir(stream))) {
		char **grown;

		if (entry->d_name[0] == '.')
			continue;
		grown = reallocarray(names, count + 2, sizeof(*names));
		if (!grown)
			break;
		names = grown;
		names[count] = strdup(entry->d_name);
		names[count + 1] = NULL;
		if (names[count])
			count++;
	}
	if (stream)
		closedir(stream);
	if (names)
		qsort(names, count, sizeof(*names), compare_names);
	return names;
}

void system_names_free(char **names)
{
	for (char **name = names; name && *name; name++)
		free(*name);
	free(names);
}

void system_add(struct json_object *object, const char *key, const char *text)
{
	size_t length = text ? strlen(text) : 0;
	_cleanup_free_ char *escaped = length ? malloc(ESCAPE_MAX(length)) : NULL;

	json_object_object_add(object, key,
			       escaped ? json_object_new_string_len(
						 escaped, (int)escape_text(text, length, escaped))
				       : NULL);
}

void system_add_name(struct job *job, struct json_object *object, const char *key, enum job_name kind,
		     const char *text)
{
	size_t length = strlen(text);
	const char *name = job_name(job, kind, text, &length);
	_cleanup_free_ char *copy = strndup(name, length);

	system_add(object, key, copy);
}

void system_add_device(struct json_object *object, uint32_t major, uint32_t minor)
{
	char text[32 + DIGITS_SLACK];

	json_object_object_add(object, "device", json_object_new_string_len(text, (int)(text_device(text, major, minor) - text)));
}

void system_add_number(struct json_object *object, const char *key, const char *text, uint64_t unit)
{
	bool number = text && isdigit((unsigned char)*text);

	json_object_object_add(
		object, key,
		number ? json_object_new_uint64(strtoull(text, NULL, 10) * unit) : NULL);
}
