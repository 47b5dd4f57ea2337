/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Builds one absolute path, escaped, from the texts of its parts. Plain data in the caller's
 * hands; never writes past NAMES_PATH_MAX.
 *
 * A path that does not fit, or whose upper part is unknown, begins with ".../".
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "names.h"

struct path {
	uint32_t length;
	char text[NAMES_PATH_MAX];
};

#define PATH_UNKNOWN "..."

/* Begins the path with a text that is escaped already, or that is still to be escaped. */
void path_set(struct path *path, const char *escaped, size_t length);
void path_set_text(struct path *path, const char *text, size_t length);

/* Appends one component. */
void path_append(struct path *path, const char *text, size_t length);

/*
 * Appends a path that a user gave, without its "//", "." and "..". When it is absolute, the path
 * so far is its root, above which ".." does not lead. A slash at the end is dropped.
 */
void path_append_user(struct path *path, const char *text, size_t length);
