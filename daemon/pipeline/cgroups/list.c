// SPDX-License-Identifier: GPL-2.0-or-later
#include "cgroups/list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ENTRIES 256	     /* room at first, as the next */
#define BYTES	(64 * 1024)

struct cgroup_list *cgroup_list_new(void)
{
	return calloc(1, sizeof(struct cgroup_list));
}

void cgroup_list_free(struct cgroup_list *list)
{
	if (!list)
		return;
	free(list->entries);
	free(list->paths);
	free(list);
}

static int make_room(struct cgroup_list *list, size_t bytes)
{
	if (list->count == list->room) {
		size_t room = list->room ? 2 * list->room : ENTRIES;
		struct cgroup_entry *entries = reallocarray(list->entries, room, sizeof(*entries));

		if (!entries)
			return -ENOMEM;
		list->entries = entries;
		list->room = room;
	}
	while (list->size - list->used < bytes) {
		size_t size = list->size ? 2 * list->size : BYTES;
		char *paths = realloc(list->paths, size);

		if (!paths)
			return -ENOMEM;
		list->paths = paths;
		list->size = size;
	}
	return 0;
}

int cgroup_list_add(struct cgroup_list *list, uint64_t id, uint64_t first_ns, uint64_t last_ns, const char *path)
{
	size_t size = strlen(path) + 1;

	if (make_room(list, size) < 0)
		return -ENOMEM;
	memcpy(list->paths + list->used, path, size);
	list->entries[list->count++] = (struct cgroup_entry){ id, first_ns, last_ns, list->used };
	list->used += size;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct cgroup_entry *one = a, *other = b;

	return (one->id > other->id) - (one->id < other->id);
}

void cgroup_list_sort(struct cgroup_list *list)
{
	if (list->count)
		qsort(list->entries, list->count, sizeof(*list->entries), compare);
}
