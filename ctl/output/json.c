// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "escape.h"

static bool printed;

void print_json(struct json_object *document)
{
	const char *text = json_object_to_json_string_ext(document, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
	size_t length = strlen(text);
	_cleanup_free_ char *escaped = NULL;

	printed = true;
	escape_json_copy(text, &length, &escaped); /* without memory, as it is */
	fwrite(escaped ?: text, 1, length, stdout);
	putchar('\n');
}

struct json_object *json_escaped(const char *bytes)
{
	size_t length = strlen(bytes);
	_cleanup_free_ char *text = malloc(ESCAPE_MAX(length) + 1);

	if (!text)
		return NULL;
	length = escape_text(bytes, length, text);
	return json_object_new_string_len(text, (int)length);
}

bool json_printed(void)
{
	return printed;
}
