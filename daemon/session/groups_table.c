// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/groups_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mix.h"
#include "session/groups.h"

#define BUCKETS 16384 /* a power of two */
#define CUT	"..." /* in place of the beginning of a path */

struct group {
	struct group *next;
	uint64_t id, parent;
	uint64_t made_ns; /* CLOCK_MONOTONIC; 0: before that was watched */
	uint64_t gone_ns; /* 0: it is there */
	uint32_t walk;	  /* the last that found it */
	char name[];
};

static struct group *group_new(uint64_t id, uint64_t parent, const char *name)
{
	size_t size = strlen(name) + 1;
	struct group *group = malloc(sizeof(*group) + size);

	if (!group)
		return NULL;
	*group = (struct group){ .id = id, .parent = parent };
	memcpy(group->name, name, size);
	return group;
}

static struct group **bucket_of(const struct groups_table *table, uint64_t id)
{
	return &table->buckets[iotr_mix(id, 0) & (BUCKETS - 1)];
}

static struct group *find(const struct groups_table *table, uint64_t id)
{
	struct group *group = table->buckets ? *bucket_of(table, id) : NULL;

	while (group && group->id != id)
		group = group->next;
	return group;
}

/* Whether there is room for one more. */
static bool has_room(struct groups_table *table)
{
	if (!table->buckets)
		table->buckets = calloc(BUCKETS, sizeof(struct group *));
	return table->buckets && table->count < GROUPS_MAX;
}

static void insert(struct groups_table *table, struct group *group)
{
	struct group **bucket = bucket_of(table, group->id);

	group->next = *bucket;
	*bucket = group;
	table->count++;
	table->version++;
}

static void leave_out(struct groups_table *table, uint64_t count, uint64_t now_ns)
{
	table->left_out += count;
	table->left_out_ns = now_ns;
}

void groups_table_add(struct groups_table *table, const struct iotr_cgroup_event *event)
{
	struct group *group = find(table, event->id);

	if (!group) {
		group = has_room(table) ? group_new(event->id, event->parent, event->name) : NULL;
		if (!group) {
			leave_out(table, !event->gone, event->mono_ns);
			return;
		}
		group->made_ns = event->gone ? 0 : event->mono_ns;
		insert(table, group);
	}
	if (event->gone && !group->gone_ns) {
		group->gone_ns = event->mono_ns;
		table->version++;
	}
}

/* ---- walks ---- */

void groups_found_add(struct groups_found *found, uint64_t id, uint64_t parent, const char *name)
{
	struct group *group = found->count < GROUPS_MAX ? group_new(id, parent, name) : NULL;

	if (!group) {
		found->left_out++;
		return;
	}
	group->next = found->first;
	found->first = group;
	found->count++;
}

void groups_found_done(struct groups_found *found)
{
	struct group *group;

	while ((group = found->first)) {
		found->first = group->next;
		free(group);
	}
}

/* Calls `each` for each group; those for which it returns true are dropped. */
static void filter(struct groups_table *table, bool (*each)(struct groups_table *table, struct group *group, uint64_t ns),
		   uint64_t ns)
{
	for (size_t i = 0; table->buckets && i < BUCKETS; i++)
		for (struct group **at = &table->buckets[i]; *at;) {
			struct group *group = *at;

			if (!each(table, group, ns)) {
				at = &group->next;
				continue;
			}
			*at = group->next;
			table->count--;
			free(group);
		}
}

static bool mark_gone(struct groups_table *table, struct group *group, uint64_t began_ns)
{
	if (!group->gone_ns && group->walk != table->walks && group->made_ns < began_ns) {
		group->gone_ns = began_ns;
		table->version++;
	}
	return false;
}

void groups_table_merge(struct groups_table *table, struct groups_found *found, uint64_t began_ns, bool all)
{
	bool first = !table->walks++;
	uint64_t left_out = found->left_out;
	struct group *group;

	while ((group = found->first)) {
		struct group *known = find(table, group->id);

		found->first = group->next;
		if (known || !has_room(table)) {
			left_out += !known;
			free(group);
		} else {
			insert(table, group);
			known = group;
		}
		if (known)
			known->walk = table->walks;
	}
	if (left_out) /* those of later walks were counted when they were made */
		leave_out(table, first ? left_out : 0, began_ns);
	if (all)
		filter(table, mark_gone, began_ns);
}

/* ---- what is not needed ---- */

static bool is_past(struct groups_table *table, struct group *group, uint64_t before_ns)
{
	(void)table;
	return group->gone_ns && group->gone_ns < before_ns;
}

void groups_table_forget(struct groups_table *table, uint64_t before_ns)
{
	filter(table, is_past, before_ns);
}

static bool is_any(struct groups_table *table, struct group *group, uint64_t ns)
{
	(void)table, (void)group, (void)ns;
	return true;
}

void groups_table_clear(struct groups_table *table)
{
	uint64_t version = table->version + 1;

	filter(table, is_any, 0);
	free(table->buckets);
	*table = (struct groups_table){ .version = version };
}

/* ---- lists ---- */

/* Puts the path together from its end, into a buffer of GROUPS_PATH_MAX bytes, and returns where it begins. */
static const char *path_of(const struct groups_table *table, const struct group *group, bool whole, char *buffer)
{
	char *at = buffer + GROUPS_PATH_MAX - 1;
	const char *above = whole ? "" : CUT;

	*at = '\0';
	if (!group->parent)
		return whole ? "/" : CUT;
	while (group && group->parent) {
		size_t length = strlen(group->name);

		if ((size_t)(at - buffer) < length + 1 + strlen(CUT)) {
			above = CUT;
			break;
		}
		at -= length;
		memcpy(at, group->name, length);
		*--at = '/';
		group = find(table, group->parent);
		if (!group)
			above = CUT;
	}
	at -= strlen(above);
	memcpy(at, above, strlen(above));
	return at;
}

const char *groups_table_path(const struct groups_table *table, uint64_t id, bool whole, char *buffer)
{
	const struct group *group = find(table, id);

	return group ? path_of(table, group, whole, buffer) : NULL;
}

static int list_one(const struct groups_table *table, const struct group *group, struct cgroup_list *list, bool whole)
{
	uint64_t first = group->made_ns > list->from_ns ? group->made_ns : list->from_ns;
	char buffer[GROUPS_PATH_MAX];

	if (group->gone_ns && group->gone_ns < list->from_ns)
		return 0;
	return cgroup_list_add(list, group->id, first, group->gone_ns ?: list->to_ns,
			       path_of(table, group, whole, buffer));
}

int groups_table_list(const struct groups_table *table, struct cgroup_list *list, bool whole)
{
	int r = 0;

	for (size_t i = 0; table->buckets && i < BUCKETS; i++)
		for (const struct group *group = table->buckets[i]; group && r >= 0; group = group->next)
			r = list_one(table, group, list, whole);
	list->left_out = table->left_out && table->left_out_ns >= list->from_ns ? table->left_out : 0;
	return r;
}
