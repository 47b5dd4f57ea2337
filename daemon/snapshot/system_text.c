// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <stdlib.h>

#include "system.h"

#define NAME_WIDTH 22

static void write_object(FILE *stream, struct json_object *object, int indent);

static void write_list(FILE *stream, const char *name, struct json_object *list, int indent)
{
	fprintf(stream, "%*s%s: %zu\n", indent, "", name, json_object_array_length(list));
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		write_object(stream, json_object_array_get_idx(list, i), indent + 2);
		if (i + 1 < json_object_array_length(list))
			putc('\n', stream);
	}
}

/* Writes a fact; one that is not known is left empty. */
static void write_fact(FILE *stream, const char *name, struct json_object *value, int indent)
{
	int width = NAME_WIDTH - indent;

	if (json_object_is_type(value, json_type_object)) {
		fprintf(stream, "%*s%s\n", indent, "", name);
		write_object(stream, value, indent + 2);
	} else if (json_object_is_type(value, json_type_array)) {
		write_list(stream, name, value, indent);
	} else if (value) {
		fprintf(stream, "%*s%-*s %s\n", indent, "", width, name, json_object_get_string(value));
	} else {
		fprintf(stream, "%*s%s\n", indent, "", name);
	}
}

static void write_object(FILE *stream, struct json_object *object, int indent)
{
	json_object_object_foreach(object, name, value)
	{
		write_fact(stream, name, value, indent);
	}
}

char *system_text(struct json_object *facts)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	if (!stream)
		return NULL;
	write_object(stream, facts, 0);
	fclose(stream);
	return text;
}
