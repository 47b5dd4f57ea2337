// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/missing.h"

#include <stdio.h>
#include <string.h>

#include "output/json.h"

static const char *reason_of(struct json_object *entry)
{
	return text_of(entry, "reason", "no reason is known");
}

/* An entry of a hook, where others are of none, is of another kind. */
static bool are_alike(struct json_object *one, struct json_object *other)
{
	return !strcmp(text_of(one, "stream", ""), text_of(other, "stream", "")) &&
	       !strcmp(reason_of(one), reason_of(other)) && !member_of(one, "hook") == !member_of(other, "hook");
}

static void append(char *text, size_t size, const char *before, const char *more)
{
	size_t at = strlen(text);

	snprintf(text + at, size - at, "%s%s", before, more);
}

bool format_missing(char *text, size_t size, struct json_object *missing, size_t at, bool hooks)
{
	struct json_object *first = json_object_array_get_idx(missing, at);
	const char *before = " ";

	for (size_t i = 0; i < at; i++)
		if (are_alike(json_object_array_get_idx(missing, i), first))
			return false;
	snprintf(text, size, "%s", text_of(first, "stream", "?"));
	for (size_t i = at; i < count_of(missing); i++) {
		struct json_object *entry = json_object_array_get_idx(missing, i);
		const char *operation = text_of(entry, "operation", "");

		if (!*operation && hooks)
			operation = text_of(entry, "hook", "");
		if (!*operation || !are_alike(entry, first))
			continue;
		append(text, size, before, operation);
		before = ", ";
	}
	append(text, size, ": ", reason_of(first));
	return true;
}
