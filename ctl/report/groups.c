// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/groups.h"

#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "output/json.h"

/* A command with what it did; while they are collected, one of its flows alone. */
struct group {
	const char *name; /* borrowed, not ended by a NUL; NULL: that of all others */
	size_t length;
	struct top_sums flows[GATHERED_FLOWS];
	bool at_least;
};

struct groups {
	struct group *list;
	size_t count;
};

static uint64_t bytes_of(const struct group *group)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < GATHERED_FLOWS; i++)
		bytes += group->flows[i].bytes;
	return bytes;
}

static int by_name(const void *a, const void *b)
{
	const struct group *left = a, *right = b;
	int r = memcmp(left->name, right->name, left->length < right->length ? left->length : right->length);

	return r ?: (left->length > right->length) - (left->length < right->length);
}

static int by_bytes(const void *a, const void *b)
{
	uint64_t left = bytes_of(a), right = bytes_of(b);

	return left != right ? (left < right ? 1 : -1) : by_name(a, b);
}

static void add_to(struct group *to, const struct group *from)
{
	for (size_t i = 0; i < GATHERED_FLOWS; i++) {
		to->flows[i].ns += from->flows[i].ns;
		to->flows[i].rows += from->flows[i].rows;
		to->flows[i].bytes += from->flows[i].bytes;
		to->flows[i].errors += from->flows[i].errors;
	}
	to->at_least |= from->at_least;
}

/* A group for each flow of each command. -ENOMEM. */
static int collect(const struct gathered *gathered, struct groups *groups)
{
	_cleanup_free_ const struct top_entry **entries = calloc(TOP_KEYS_MAX, sizeof(*entries));

	groups->list = calloc(GATHERED_FLOWS * (size_t)TOP_KEYS_MAX, sizeof(*groups->list));
	if (!entries || !groups->list)
		return -1;
	for (size_t flow = 0; flow < GATHERED_FLOWS; flow++) {
		const struct top *top = &gathered->commands[flow];
		int count = top_greatest(top, entries, TOP_KEYS_MAX);

		if (count < 0)
			return -1;
		for (int i = 0; i < count; i++) {
			struct group *group = &groups->list[groups->count++];

			group->name = top_key(top, entries[i]);
			group->length = entries[i]->key_length;
			group->flows[flow] = entries[i]->sums;
			group->at_least = entries[i]->at_least;
		}
	}
	return 0;
}

/* Joins those of one command. */
static void join(struct groups *groups)
{
	size_t used = 0;

	if (!groups->count)
		return;
	qsort(groups->list, groups->count, sizeof(*groups->list), by_name);
	for (size_t i = 1; i < groups->count; i++)
		if (!by_name(&groups->list[used], &groups->list[i]))
			add_to(&groups->list[used], &groups->list[i]);
		else
			groups->list[++used] = groups->list[i];
	groups->count = used + 1;
	qsort(groups->list, groups->count, sizeof(*groups->list), by_bytes);
}

static struct json_object *sums_object(const struct top_sums *sums)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "operations", json_object_new_uint64(sums->rows));
	json_object_object_add(object, "bytes", json_object_new_uint64(sums->bytes));
	json_object_object_add(object, "errors", json_object_new_uint64(sums->errors));
	json_object_object_add(object, "time_ns", json_object_new_uint64(sums->ns));
	return object;
}

static struct json_object *group_object(const struct group *group)
{
	static const char *const names[] = {
		[GATHERED_CALL_READ] = "call_read", [GATHERED_CALL_WRITE] = "call_write",
		[GATHERED_DISK_READ] = "disk_read", [GATHERED_DISK_WRITE] = "disk_write",
	};
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "name",
			       group->name ? json_object_new_string_len(group->name, (int)group->length) : NULL);
	for (size_t i = 0; i < GATHERED_FLOWS; i++)
		json_object_object_add(object, names[i], sums_object(&group->flows[i]));
	json_object_object_add(object, "exact", json_object_new_boolean(!group->at_least));
	return object;
}

/* All, less those that are shown: so that the sum is right however many commands were forgotten. */
static struct json_object *others_object(const struct gathered *gathered, const struct groups *groups, size_t shown)
{
	struct group others = { 0 };

	memcpy(others.flows, gathered->all, sizeof(others.flows));
	for (size_t i = 0; i < shown; i++)
		for (size_t flow = 0; flow < GATHERED_FLOWS; flow++) {
			const struct top_sums *sums = &groups->list[i].flows[flow];

			others.flows[flow].ns -= sums->ns;
			others.flows[flow].rows -= sums->rows;
			others.flows[flow].bytes -= sums->bytes;
			others.flows[flow].errors -= sums->errors;
		}
	return others.flows[GATHERED_CALL_READ].rows + others.flows[GATHERED_CALL_WRITE].rows +
			       others.flows[GATHERED_DISK_READ].rows + others.flows[GATHERED_DISK_WRITE].rows ?
		       group_object(&others) : NULL;
}

struct json_object *groups_object(const struct gathered *gathered, const struct summary *summary, size_t most)
{
	struct json_object *object = json_object_new_object(), *array = json_object_new_array();
	struct group all = { 0 };
	struct groups groups = { 0 };
	size_t shown = 0;

	if (collect(gathered, &groups) >= 0)
		join(&groups);
	else
		groups.count = 0;
	for (; shown < groups.count && shown < most; shown++)
		json_object_array_add(array, group_object(&groups.list[shown]));
	memcpy(all.flows, gathered->all, sizeof(all.flows));
	json_object_object_add(object, "vfs", json_object_new_boolean(summary->streams[IOTR_VFS].there));
	json_object_object_add(object, "block", json_object_new_boolean(summary->streams[IOTR_BLOCK].there));
	json_object_object_add(object, "commands", array);
	json_object_object_add(object, "others", others_object(gathered, &groups, shown));
	json_object_object_add(object, "all", group_object(&all));
	free(groups.list);
	return object;
}
