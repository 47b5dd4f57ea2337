/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Members of a JSON object by the type of their value. Any thread. */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

/* NULL becomes null. */
static inline void add_string(struct json_object *object, const char *key, const char *value)
{
	json_object_object_add(object, key, value ? json_object_new_string(value) : NULL);
}

static inline void add_u64(struct json_object *object, const char *key, uint64_t value)
{
	json_object_object_add(object, key, json_object_new_uint64(value));
}

static inline void add_flag(struct json_object *object, const char *key, bool value)
{
	json_object_object_add(object, key, json_object_new_boolean(value));
}
