/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is in a JSON object that somebody else made. Takes any object, including NULL, and returns a default for what is not
 * there; what is returned is borrowed from the object. Any thread that may use the object.
 */
#pragma once

#include <json-c/json.h>
#include <stddef.h>
#include <stdint.h>

/* The member, or NULL. */
static inline struct json_object *member_of(struct json_object *object, const char *key)
{
	struct json_object *member = NULL;

	if (json_object_is_type(object, json_type_object))
		json_object_object_get_ex(object, key, &member);
	return member;
}

/* The member as text, whatever its type is. */
static inline const char *text_of(struct json_object *object, const char *key, const char *otherwise)
{
	struct json_object *member = member_of(object, key);

	return member ? json_object_get_string(member) : otherwise;
}

/* The member if it is a string, otherwise NULL. */
static inline const char *string_of(struct json_object *object, const char *key)
{
	struct json_object *member = member_of(object, key);

	return json_object_is_type(member, json_type_string) ? json_object_get_string(member) : NULL;
}

/* The member as a number; 0 for what is none. */
static inline uint64_t number_of(struct json_object *object, const char *key)
{
	return json_object_get_uint64(member_of(object, key));
}

/* Number of elements of an array; 0 for anything else. */
static inline size_t count_of(struct json_object *array)
{
	return json_object_is_type(array, json_type_array) ? json_object_array_length(array) : 0;
}
