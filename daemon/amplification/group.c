// SPDX-License-Identifier: GPL-2.0-or-later
#include "amplification/group.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "amplification/disk.h"
#include "mix.h"

enum { BUCKETS = 1024 }; /* a power of two */

static const char *const names[GROUP_BYS] = {
	[GROUP_BY_SYSTEM] = "system",	      [GROUP_BY_PROCESS] = "process", [GROUP_BY_UNIT] = "unit",
	[GROUP_BY_CONTAINER] = "container", [GROUP_BY_DEVICE] = "device",
};

int group_by_find(const char *name)
{
	for (int by = 0; by < GROUP_BYS; by++)
		if (!strcmp(names[by], name))
			return by;
	return -ENOENT;
}

const char *group_by_name(enum group_by by)
{
	return names[by];
}

/* While accounts are summed up: groups by what they are called. */
struct sorting {
	const struct group_wish *wish;
	struct disks disks;
	struct group_list list;
	size_t room;
	size_t next[BUCKETS]; /* 1 + index of the last group with that hash; 0: there is none */
	size_t *chain;	      /* for each group: the one before with that hash, likewise */
	bool failed;	      /* out of memory */
};

/* ---- which group an account is of ---- */

static bool wanted(const struct group_wish *wish, const struct process *process)
{
	for (size_t i = 0; i < wish->system_count; i++)
		if (!strcasecmp(wish->systems[i], process->system))
			return true;
	return !wish->systems;
}

static const char *name_of(const struct process *process, enum group_by by)
{
	switch (by) {
	case GROUP_BY_PROCESS:
		return process->kind == PROCESS_ENDED ? "(ended)" : process->command;
	case GROUP_BY_UNIT:
		return process->unit;
	case GROUP_BY_CONTAINER:
		return process->container_id;
	default:
		return process->system;
	}
}

static bool describe_disk(struct sorting *sorting, uint32_t device, struct group *group)
{
	const struct disk *disk = disks_find(&sorting->disks, device);

	if (!disk)
		return false;
	group->device = disk->leaf;
	snprintf(group->name, sizeof(group->name), "%s", disk->name);
	return true;
}

/* Sets all but the counts. False without memory. */
static bool describe(struct sorting *sorting, const struct process *process, uint32_t device, struct group *group)
{
	enum group_by by = sorting->wish->by;

	*group = (struct group){ .kind = GROUP_NAMED };
	if (process->kind == PROCESS_OTHERS)
		group->kind = GROUP_NO_ROOM;
	else if (by == GROUP_BY_DEVICE)
		return describe_disk(sorting, device, group);
	else if (process->kind == PROCESS_KERNEL)
		group->kind = GROUP_KERNEL;
	else if (!*name_of(process, by) && by != GROUP_BY_PROCESS)
		group->kind = GROUP_NONE;
	if (group->kind == GROUP_NAMED) {
		snprintf(group->name, sizeof(group->name), "%s", name_of(process, by));
		group->process = by == GROUP_BY_PROCESS ? process : NULL;
	}
	return true;
}

static bool same(const struct group *one, const struct group *two)
{
	return one->kind == two->kind && one->process == two->process && one->device == two->device &&
	       !strcmp(one->name, two->name);
}

static size_t hash_of(const struct group *group)
{
	uint64_t hash = iotr_mix(iotr_mix(group->kind, (uintptr_t)group->process), group->device);

	for (const char *at = group->name; *at; at++)
		hash = iotr_mix(hash, (unsigned char)*at);
	return hash & (BUCKETS - 1);
}

/* ---- sums ---- */

static bool grow(struct sorting *sorting)
{
	size_t room = sorting->room * 2 + 16;
	struct group *groups;
	size_t *chain;

	if (sorting->list.count < sorting->room)
		return true;
	groups = reallocarray(sorting->list.groups, room, sizeof(*groups));
	if (groups)
		sorting->list.groups = groups;
	chain = reallocarray(sorting->chain, room, sizeof(*chain));
	if (chain)
		sorting->chain = chain;
	if (!groups || !chain)
		return false;
	sorting->room = room;
	return true;
}

static struct group *find_or_add(struct sorting *sorting, const struct group *like)
{
	size_t hash = hash_of(like), at = sorting->next[hash];

	while (at && !same(&sorting->list.groups[at - 1], like))
		at = sorting->chain[at - 1];
	if (at)
		return &sorting->list.groups[at - 1];
	if (!grow(sorting))
		return NULL;
	at = sorting->list.count++;
	sorting->list.groups[at] = *like;
	sorting->chain[at] = sorting->next[hash];
	sorting->next[hash] = at + 1;
	return &sorting->list.groups[at];
}

/* All disks are in the sum, so that nothing of what others do below a stacked one is missing. */
static void forget_stacked(struct counts *counts)
{
	for (size_t layer = IOTR_LAYER_LOOP_READ; layer <= IOTR_LAYER_STACKED_WRITE; layer++)
		counts->sums[layer] = (struct iotr_layer_sum){ 0 };
}

static void on_account(const struct process *process, uint32_t device, const struct counts *counts, void *userdata)
{
	struct sorting *sorting = userdata;
	struct group like, *group;

	if (!wanted(sorting->wish, process))
		return;
	counts_add(&sorting->list.all, counts);
	if (process->commands & sorting->wish->command)
		counts_add(&sorting->list.command, counts);
	else if (sorting->wish->command && process->kind != PROCESS_OTHERS)
		return;
	group = describe(sorting, process, device, &like) ? find_or_add(sorting, &like) : NULL;
	if (!group) {
		sorting->failed = true;
		return;
	}
	counts_add(&group->counts, counts);
}

static uint64_t weight(const struct group *group)
{
	const struct iotr_layer_sum *sums = group->counts.sums;

	return sums[IOTR_LAYER_APP_READ].bytes + sums[IOTR_LAYER_APP_WRITE].bytes + sums[IOTR_LAYER_DEVICE_READ].bytes +
	       sums[IOTR_LAYER_DEVICE_WRITE].bytes;
}

static int compare(const void *one, const void *two)
{
	const struct group *first = one, *second = two;

	if (first->kind != second->kind)
		return first->kind < second->kind ? -1 : 1;
	if (weight(first) != weight(second))
		return weight(first) > weight(second) ? -1 : 1;
	return strcmp(first->name, second->name);
}

int group_window(const struct window *window, const struct group_wish *wish, struct group_list *ret)
{
	struct sorting *sorting = calloc(1, sizeof(*sorting));
	int r = 0;

	*ret = (struct group_list){ 0 };
	if (!sorting)
		return -ENOMEM;
	sorting->wish = wish;
	sorting->disks.sys = wish->sys;
	window_each(window, on_account, sorting);
	if (!wish->systems)
		forget_stacked(&sorting->list.all);
	for (size_t i = 0; i < sorting->list.count; i++)
		if ((wish->by == GROUP_BY_DEVICE && !wish->systems && !wish->command) ||
		    sorting->list.groups[i].kind == GROUP_KERNEL)
			forget_stacked(&sorting->list.groups[i].counts);
	if (sorting->failed) {
		group_list_done(&sorting->list);
		r = -ENOMEM;
	} else {
		if (sorting->list.count)
			qsort(sorting->list.groups, sorting->list.count, sizeof(struct group), compare);
		*ret = sorting->list;
	}
	disks_done(&sorting->disks);
	free(sorting->chain);
	free(sorting);
	return r;
}

void group_list_done(struct group_list *list)
{
	free(list->groups);
	*list = (struct group_list){ 0 };
}
