// SPDX-License-Identifier: GPL-2.0-or-later
#include "verbs/no_trace.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "manifest_text.h"
#include "output/complain.h"
#include "output/json.h"

#define ANY_OTHER "Give the folder of a trace, the one with " MANIFEST_NAME "."

/* Whether the folder has none, and the one above has; its path without symbolic links. */
static bool lies_in_trace(const char *path, char above[PATH_MAX])
{
	char name[PATH_MAX + sizeof("/" MANIFEST_NAME)];

	snprintf(name, sizeof(name), "%.*s/%s", PATH_MAX - 1, path, MANIFEST_NAME);
	if (access(name, F_OK) == 0)
		return false;
	snprintf(name, sizeof(name), "%.*s/..", PATH_MAX - 1, path);
	if (!realpath(name, above))
		return false;
	snprintf(name, sizeof(name), "%s/%s", above, MANIFEST_NAME);
	return access(name, F_OK) == 0;
}

int complain_no_trace(const char *path, const struct verify_report *report)
{
	struct json_object *first = count_of(report->lists[VERIFY_WRONG]) ?
					    json_object_array_get_idx(report->lists[VERIFY_WRONG], 0) : NULL;
	char above[PATH_MAX], hint[PATH_MAX + 64] = ANY_OTHER;

	if (lies_in_trace(path, above))
		snprintf(hint, sizeof(hint), "It is a part of the trace %s: give that.", above);
	complain(hint, "%s/%s: %s", path, text_of(first, "file", MANIFEST_NAME), text_of(first, "what", "it cannot be read"));
	return EXIT_FAILED;
}
