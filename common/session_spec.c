// SPDX-License-Identifier: GPL-2.0-or-later
#include "session_spec.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

const char *const iotr_format_names[IOTR_FORMAT_COUNT] = {
	[IOTR_FORMAT_CSV] = "csv",
	[IOTR_FORMAT_JSONL] = "jsonl",
};

#define OFFSET(member) offsetof(struct iotr_session_spec, member)
#define SIZE(member)   sizeof(((struct iotr_session_spec *)0)->member)

/* A list is a pointer to an array, and a count; any other filter is one member. */
#define LIST(name, array, count)                                                                \
	{                                                                                       \
		name, OFFSET(array), SIZE(array[0]), OFFSET(count), true                        \
	}
#define VALUE(name, member)                                                                     \
	{                                                                                       \
		name, OFFSET(member), SIZE(member), 0, false                                    \
	}

static const struct {
	const char *name;
	size_t offset;
	size_t size; /* of the member, or of an element of the list */
	size_t count;
	bool list;
} filters[IOTR_SPEC_FILTER_COUNT] = {
#define NUMBERS(name, count) LIST(#name, name, count)
#define TEXTS(name, count) LIST(#name, name, count)
#define DEVICES(name, count) LIST(#name, name, count)
#define FLAG(name, count) VALUE(#name, name)
#define COUNT(name, count) VALUE(#name, name)
#define OPERATIONS(name, count) VALUE(#name, name)
#define SAMPLE(name, count) VALUE(#name, name)
#define FILTER(id, name, kind, type, count, ...) [IOTR_SPEC_##id] = kind(name, count),
	IOTR_FILTERS(FILTER)
};

const char *iotr_spec_filter_name(enum iotr_spec_filter filter)
{
	return filters[filter].name;
}

int iotr_spec_filter_find(const char *name)
{
	for (int filter = 0; filter < IOTR_SPEC_FILTER_COUNT; filter++)
		if (!strcmp(filters[filter].name, name))
			return filter;
	return -1;
}

static void *member(const struct iotr_session_spec *spec, size_t offset)
{
	return (char *)spec + offset;
}

bool iotr_spec_filter_given(const struct iotr_session_spec *spec, enum iotr_spec_filter filter)
{
	const char *value = member(spec, filters[filter].offset);

	if (filters[filter].list)
		return *(size_t *)member(spec, filters[filter].count);
	for (size_t i = 0; i < filters[filter].size; i++)
		if (value[i])
			return true;
	return false;
}

static void list_set(struct iotr_session_spec *spec, enum iotr_spec_filter filter, void *array, size_t count)
{
	memcpy(member(spec, filters[filter].offset), &array, sizeof(array));
	*(size_t *)member(spec, filters[filter].count) = count;
}

static void *list_array(const struct iotr_session_spec *spec, enum iotr_spec_filter filter)
{
	void *array;

	memcpy(&array, member(spec, filters[filter].offset), sizeof(array));
	return array;
}

static int list_copy(struct iotr_session_spec *to, const struct iotr_session_spec *from,
		     enum iotr_spec_filter filter)
{
	size_t count = *(size_t *)member(from, filters[filter].count), size = filters[filter].size;
	void *array = count ? calloc(count, size) : NULL;

	if (count && !array)
		return -ENOMEM;
	if (count)
		memcpy(array, list_array(from, filter), count * size);
	list_set(to, filter, array, count);
	return 0;
}

int iotr_spec_filter_take(struct iotr_session_spec *to, const struct iotr_session_spec *from,
			  enum iotr_spec_filter filter)
{
	void *value = member(to, filters[filter].offset);

	if (!filters[filter].list) {
		if (from)
			memcpy(value, member(from, filters[filter].offset), filters[filter].size);
		else
			memset(value, 0, filters[filter].size);
		return 0;
	}
	free(list_array(to, filter));
	list_set(to, filter, NULL, 0);
	return from ? list_copy(to, from, filter) : 0;
}

int iotr_session_spec_copy(struct iotr_session_spec *to, const struct iotr_session_spec *from)
{
	int r = 0;

	*to = *from;
	for (int filter = 0; filter < IOTR_SPEC_FILTER_COUNT; filter++)
		if (filters[filter].list)
			list_set(to, filter, NULL, 0);
	to->declared = from->declared ? strdup(from->declared) : NULL;
	if (from->declared && !to->declared)
		r = -ENOMEM;
	for (int filter = 0; filter < IOTR_SPEC_FILTER_COUNT && r >= 0; filter++)
		if (filters[filter].list)
			r = list_copy(to, from, filter);
	return r;
}

void iotr_session_spec_done(struct iotr_session_spec *spec)
{
	for (int filter = 0; filter < IOTR_SPEC_FILTER_COUNT; filter++)
		if (filters[filter].list)
			free(list_array(spec, filter));
	free(spec->declared);
	memset(spec, 0, sizeof(*spec));
}

bool iotr_session_name_valid(const char *name)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
	size_t length = strlen(name);

	return length > 0 && length <= IOTR_SESSION_NAME_MAX && name[0] != '.' && name[0] != '-' &&
	       strspn(name, allowed) == length;
}
