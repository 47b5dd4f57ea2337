// SPDX-License-Identifier: GPL-2.0-or-later
#include "arguments.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "protocol.h"
#include "session_spec.h"

int argument_refuse(struct engine_error *error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(error->message, sizeof(error->message), format, arguments);
	va_end(arguments);
	return -EINVAL;
}

static void name_parameter(struct engine_error *error, const char *name)
{
	snprintf(error->parameter, sizeof(error->parameter), "%s", name);
}

static bool has_row(const struct argument *rows, const char *name)
{
	for (; rows->name; rows++)
		if (!strcmp(rows->name, name))
			return true;
	return false;
}

static int refuse_unknown(struct json_object *parameters, const struct argument *rows, struct engine_error *error)
{
	json_object_object_foreach(parameters, name, value)
	{
		(void)value;
		if (has_row(rows, name))
			continue;
		name_parameter(error, name);
		return argument_refuse(error, "the method has no such parameter");
	}
	return 0;
}

int arguments_read(struct json_object *parameters, const struct argument *rows, void *target,
		   struct engine_error *error)
{
	int r = refuse_unknown(parameters, rows, error);

	for (; rows->name && r >= 0; rows++) {
		struct json_object *value = NULL;

		name_parameter(error, rows->name);
		json_object_object_get_ex(parameters, rows->name, &value);
		if (value)
			r = rows->parse(value, (char *)target + rows->offset, error);
		else if (rows->required)
			r = argument_refuse(error, "the method needs this parameter");
	}
	if (r >= 0)
		name_parameter(error, "");
	return r;
}

int argument_string(struct json_object *value, void *target, struct engine_error *error)
{
	const char *text;

	if (!json_object_is_type(value, json_type_string))
		return argument_refuse(error, "it is not a string");
	text = json_object_get_string(value);
	if (strlen(text) != (size_t)json_object_get_string_len(value))
		return argument_refuse(error, "the string contains a NUL byte");
	*(const char **)target = text;
	return 0;
}

int argument_flag(struct json_object *value, void *target, struct engine_error *error)
{
	if (!json_object_is_type(value, json_type_boolean))
		return argument_refuse(error, "it is not true or false");
	*(bool *)target = json_object_get_boolean(value);
	return 0;
}

int argument_session(struct json_object *value, void *target, struct engine_error *error)
{
	const char *name = NULL;
	int r = argument_string(value, &name, error);

	if (r < 0)
		return r;
	if (!iotr_session_name_valid(name))
		return argument_refuse(error,
				       "a session's name is 1 to %d letters, digits, '_', '.' and "
				       "'-', and begins with none of the last two",
				       IOTR_SESSION_NAME_MAX);
	*(const char **)target = name;
	return 0;
}

int argument_folder(struct json_object *value, void *target, struct engine_error *error)
{
	const char *path = NULL;
	int r = argument_string(value, &path, error);

	if (r < 0)
		return r;
	if (*path != '/')
		return argument_refuse(error, "the path is not absolute");
	if (strlen(path) >= PATH_MAX)
		return argument_refuse(error, "the path is longer than %d bytes", PATH_MAX - 1);
	*(const char **)target = path;
	return 0;
}

int argument_number(struct json_object *value, uint64_t min, uint64_t max, uint64_t *ret,
		    struct engine_error *error)
{
	uint64_t number;

	if (!json_object_is_type(value, json_type_int))
		return argument_refuse(error, "it is not a whole number");
	number = json_object_get_uint64(value); /* saturates; a negative value becomes 0 */
	if (max == INT64_MAX && (json_object_get_int64(value) < 0 || number < min))
		return argument_refuse(error, "it is less than %llu", (unsigned long long)min);
	if (json_object_get_int64(value) < 0 || number < min || number > max)
		return argument_refuse(error, "it is not from %llu to %llu",
				       (unsigned long long)min, (unsigned long long)max);
	*ret = number;
	return 0;
}

int argument_count(struct json_object *value, void *target, struct engine_error *error)
{
	return argument_number(value, 0, INT64_MAX, target, error);
}

int argument_list(struct json_object *value,
		  int (*each)(struct json_object *value, void *target, struct engine_error *error),
		  void *target, struct engine_error *error)
{
	size_t length;

	if (!json_object_is_type(value, json_type_array))
		return argument_refuse(error, "it is not an array");
	length = json_object_array_length(value);
	if (!length)
		return argument_refuse(error, "the array is empty");
	if (length > IOTR_FILTER_VALUES_MAX)
		return argument_refuse(error, "%zu values are given, but the limit is %d", length,
				       IOTR_FILTER_VALUES_MAX);
	for (size_t i = 0; i < length; i++) {
		int r = each(json_object_array_get_idx(value, i), target, error);

		if (r < 0)
			return r;
	}
	return 0;
}
