/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JSON for machines: documents on stdout, and what is in an object. Getters take any object, including NULL, and
 * return a default for a missing member; what they return is borrowed from it. One thread.
 */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Prints one document and a line end on stdout. */
void print_json(struct json_object *document);

/* Whether a document was printed. */
bool json_printed(void);

/*
 * A JSON string from text that may contain any byte, such as a file's name. Returns NULL, which JSON prints as
 * null, if there is no memory.
 */
struct json_object *json_escaped(const char *bytes);

/* The member, or NULL. */
struct json_object *member_of(struct json_object *object, const char *key);
/* The member as text, whatever its type is. */
const char *text_of(struct json_object *object, const char *key, const char *otherwise);
/* The member if it is a string, otherwise NULL. */
const char *string_of(struct json_object *object, const char *key);
uint64_t number_of(struct json_object *object, const char *key);
/* Number of elements of an array; 0 for anything else. */
size_t count_of(struct json_object *array);
