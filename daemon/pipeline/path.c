// SPDX-License-Identifier: GPL-2.0-or-later
#include "path.h"

#include <string.h>

#include "escape.h"

#define UNKNOWN_LENGTH (sizeof(PATH_UNKNOWN) - 1)

void path_set(struct path *path, const char *escaped, size_t length)
{
	memcpy(path->text, escaped, length);
	path->length = (uint32_t)length;
}

void path_set_text(struct path *path, const char *text, size_t length)
{
	path->length = (uint32_t)escape_field(text, length, path->text);
}

static bool is_root(const struct path *path)
{
	return path->length == 1 && path->text[0] == '/';
}

void path_append(struct path *path, const char *text, size_t length)
{
	if (path->length + 1 + ESCAPE_MAX(length) > sizeof(path->text))
		path_set(path, PATH_UNKNOWN, UNKNOWN_LENGTH);
	if (!is_root(path))
		path->text[path->length++] = '/';
	path->length +=
		(uint32_t)escape_cell(text, length, path->text + path->length);
}

/* Takes the last component away, but nothing of the first `floor` bytes. */
static void pop(struct path *path, size_t floor)
{
	while (path->length > floor && path->text[path->length - 1] != '/')
		path->length--;
	if (path->length > floor)
		path->length--;
	if (!path->length)
		path->text[path->length++] = '/';
}

static bool is_unknown(const struct path *path)
{
	return path->length >= UNKNOWN_LENGTH && !memcmp(path->text, PATH_UNKNOWN, UNKNOWN_LENGTH);
}

void path_append_user(struct path *path, const char *text, size_t length)
{
	size_t floor = is_unknown(path) ? UNKNOWN_LENGTH : 0;

	if (length && text[0] == '/' && !is_root(path))
		floor = path->length;
	for (size_t at = 0, end; at < length; at = end + 1) {
		const char *slash = memchr(text + at, '/', length - at);
		size_t part = (slash ? (size_t)(slash - text) : length) - at;

		end = at + part;
		if (!part || (part == 1 && text[at] == '.'))
			continue;
		if (part == 2 && !memcmp(text + at, "..", 2))
			pop(path, floor);
		else
			path_append(path, text + at, part);
	}
}
