// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/pending.h"

#include <errno.h>
#include <stdlib.h>

static bool before(const struct pending *a, const struct pending *b)
{
	return a->end_ns != b->end_ns ? a->end_ns < b->end_ns : a->number < b->number;
}

int pending_add(struct pending_list *list, struct pending one)
{
	size_t at = list->count;

	if (list->count == list->room) {
		size_t room = list->room ? 2 * list->room : 256;
		struct pending *heap = reallocarray(list->heap, room, sizeof(*heap));

		if (!heap)
			return -ENOMEM;
		list->heap = heap;
		list->room = room;
	}
	for (; at && before(&one, &list->heap[(at - 1) / 2]); at = (at - 1) / 2)
		list->heap[at] = list->heap[(at - 1) / 2];
	list->heap[at] = one;
	list->count++;
	return 0;
}

uint64_t pending_reach(uint64_t *reached_ns, uint64_t ns)
{
	ns = ns < PENDING_TIME_MAX ? ns : PENDING_TIME_MAX;
	if (ns > *reached_ns)
		*reached_ns = ns;
	return *reached_ns;
}

bool pending_take(struct pending_list *list, uint64_t until_ns, struct pending *ret)
{
	struct pending last;
	size_t at = 0;

	if (!list->count || list->heap[0].end_ns > until_ns)
		return false;
	*ret = list->heap[0];
	last = list->heap[--list->count];
	for (size_t child; (child = 2 * at + 1) < list->count; at = child) {
		if (child + 1 < list->count && before(&list->heap[child + 1], &list->heap[child]))
			child++;
		if (!before(&list->heap[child], &last))
			break;
		list->heap[at] = list->heap[child];
	}
	if (list->count)
		list->heap[at] = last;
	return true;
}

void pending_done(struct pending_list *list)
{
	free(list->heap);
	*list = (struct pending_list){ 0 };
}
