// SPDX-License-Identifier: GPL-2.0-or-later
#include "json_memory.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdint.h>

static _Thread_local bool lacks;

bool json_lacks(void)
{
	bool now = lacks;

	lacks = false;
	return now;
}

static struct json_object *made(struct json_object *object)
{
	lacks |= !object;
	return object;
}

/* ---- what is made ---- */

#define MADE(function, declared, ...)                           \
	struct json_object *__real_##function declared;         \
	struct json_object *__wrap_##function declared;         \
	struct json_object *__wrap_##function declared          \
	{                                                       \
		return made(__real_##function(__VA_ARGS__));    \
	}

MADE(json_object_new_object, (void))
MADE(json_object_new_array, (void))
MADE(json_object_new_string, (const char *text), text)
MADE(json_object_new_string_len, (const char *text, int length), text, length)
MADE(json_object_new_boolean, (json_bool value), value)
MADE(json_object_new_int, (int32_t value), value)
MADE(json_object_new_int64, (int64_t value), value)
MADE(json_object_new_uint64, (uint64_t value), value)
MADE(json_object_new_double, (double value), value)
MADE(json_object_new_double_s, (double value, const char *text), value, text)

int __real_json_object_deep_copy(struct json_object *from, struct json_object **to, json_c_shallow_copy_fn *copy);
int __wrap_json_object_deep_copy(struct json_object *from, struct json_object **to, json_c_shallow_copy_fn *copy);
int __wrap_json_object_deep_copy(struct json_object *from, struct json_object **to, json_c_shallow_copy_fn *copy)
{
	int r = __real_json_object_deep_copy(from, to, copy);

	lacks |= r < 0;
	return r;
}

/* ---- what it is added to ---- */

/* A value that could not be added is nobody's: some callers go on to fill it in, so the few bytes stay. */
static int added(int r)
{
	lacks |= r < 0;
	return r;
}

int __real_json_object_object_add(struct json_object *object, const char *key, struct json_object *value);
int __wrap_json_object_object_add(struct json_object *object, const char *key, struct json_object *value);
int __wrap_json_object_object_add(struct json_object *object, const char *key, struct json_object *value)
{
	return added(object ? __real_json_object_object_add(object, key, value) : -1);
}

int __real_json_object_array_add(struct json_object *array, struct json_object *value);
int __wrap_json_object_array_add(struct json_object *array, struct json_object *value);
int __wrap_json_object_array_add(struct json_object *array, struct json_object *value)
{
	return added(array ? __real_json_object_array_add(array, value) : -1);
}

int __real_json_object_array_put_idx(struct json_object *array, size_t index, struct json_object *value);
int __wrap_json_object_array_put_idx(struct json_object *array, size_t index, struct json_object *value);
int __wrap_json_object_array_put_idx(struct json_object *array, size_t index, struct json_object *value)
{
	return added(array ? __real_json_object_array_put_idx(array, index, value) : -1);
}

/* ---- what is asked of it ---- */

void __real_json_object_object_del(struct json_object *object, const char *key);
void __wrap_json_object_object_del(struct json_object *object, const char *key);
void __wrap_json_object_object_del(struct json_object *object, const char *key)
{
	if (object)
		__real_json_object_object_del(object, key);
}

int __real_json_object_object_length(const struct json_object *object);
int __wrap_json_object_object_length(const struct json_object *object);
int __wrap_json_object_object_length(const struct json_object *object)
{
	return object ? __real_json_object_object_length(object) : 0;
}

size_t __real_json_object_array_length(const struct json_object *array);
size_t __wrap_json_object_array_length(const struct json_object *array);
size_t __wrap_json_object_array_length(const struct json_object *array)
{
	return array ? __real_json_object_array_length(array) : 0;
}

struct json_object *__real_json_object_array_get_idx(const struct json_object *array, size_t index);
struct json_object *__wrap_json_object_array_get_idx(const struct json_object *array, size_t index);
struct json_object *__wrap_json_object_array_get_idx(const struct json_object *array, size_t index)
{
	return array ? __real_json_object_array_get_idx(array, index) : NULL;
}

/* For json_object_object_foreach(), which takes the first member without a look. */
struct lh_table *__real_json_object_get_object(const struct json_object *object);
struct lh_table *__wrap_json_object_get_object(const struct json_object *object);
struct lh_table *__wrap_json_object_get_object(const struct json_object *object)
{
	static struct lh_table empty;
	struct lh_table *table = __real_json_object_get_object(object);

	return table ?: &empty;
}

/* ---- its text ---- */

/*
 * The library leaves out of a text what there is no memory for, and says nothing; only errno does. What is missing of the
 * object itself is for the caller to ask.
 */
static const char *whole(const char *text, int before)
{
	if (errno == ENOMEM)
		text = NULL;
	lacks |= !text;
	errno = before;
	return text;
}

const char *__real_json_object_to_json_string_ext(struct json_object *object, int flags);
const char *__wrap_json_object_to_json_string_ext(struct json_object *object, int flags);
const char *__wrap_json_object_to_json_string_ext(struct json_object *object, int flags)
{
	int before = errno;

	errno = 0;
	return whole(__real_json_object_to_json_string_ext(object, flags), before);
}

const char *__real_json_object_to_json_string_length(struct json_object *object, int flags, size_t *length);
const char *__wrap_json_object_to_json_string_length(struct json_object *object, int flags, size_t *length);
const char *__wrap_json_object_to_json_string_length(struct json_object *object, int flags, size_t *length)
{
	int before = errno;

	errno = 0;
	return whole(__real_json_object_to_json_string_length(object, flags, length), before);
}
