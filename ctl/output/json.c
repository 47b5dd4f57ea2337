// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "escape.h"

static bool printed;

/* Writes valid JSON. The library has left DEL and U+0080 to U+009F as they are, which some terminals obey; they stand in strings. */
static void put_valid(const char *text, size_t length)
{
	const char *from = text;

	for (size_t at = 0; at < length; at++) {
		size_t wide = text[at] == '\xc2' && at + 1 < length && (unsigned char)text[at + 1] < 0xa0;

		if (text[at] != '\x7f' && !wide)
			continue;
		fwrite(from, 1, (size_t)(text + at - from), stdout);
		at += wide;
		printf("\\u%04x", (unsigned char)text[at]);
		from = text + at + 1;
	}
	fwrite(from, 1, (size_t)(text + length - from), stdout);
}

void put_json(struct json_object *value)
{
	const char *text = json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
	size_t length = strlen(text);
	_cleanup_free_ char *escaped = NULL;

	escape_json_copy(text, &length, &escaped); /* without memory, as it is */
	put_valid(escaped ?: text, length);
}

void print_json(struct json_object *document)
{
	printed = true;
	put_json(document);
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
