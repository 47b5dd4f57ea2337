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
	printed = true;
	puts(json_object_to_json_string_ext(document, JSON_C_TO_STRING_PLAIN |
							      JSON_C_TO_STRING_NOSLASHESCAPE));
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

struct json_object *member_of(struct json_object *object, const char *key)
{
	struct json_object *member = NULL;

	if (json_object_is_type(object, json_type_object))
		json_object_object_get_ex(object, key, &member);
	return member;
}

const char *text_of(struct json_object *object, const char *key, const char *otherwise)
{
	struct json_object *member = member_of(object, key);

	return member ? json_object_get_string(member) : otherwise;
}

const char *string_of(struct json_object *object, const char *key)
{
	struct json_object *member = member_of(object, key);

	return json_object_is_type(member, json_type_string) ? json_object_get_string(member) : NULL;
}

uint64_t number_of(struct json_object *object, const char *key)
{
	return json_object_get_uint64(member_of(object, key));
}

size_t count_of(struct json_object *array)
{
	return json_object_is_type(array, json_type_array) ? json_object_array_length(array) : 0;
}
