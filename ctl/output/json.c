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
	size_t length = strlen(text), more = escape_json_more(text, length);
	_cleanup_free_ char *escaped = more ? malloc(length + more) : NULL;

	printed = true;
	if (escaped)
		escape_json(text, length, escaped);
	fwrite(escaped ?: text, 1, length + (escaped ? more : 0), stdout);
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
