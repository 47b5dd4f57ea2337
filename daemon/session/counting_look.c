// SPDX-License-Identifier: GPL-2.0-or-later
/* What is told of what was counted. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "amplification/describe.h"
#include "cleanup.h"
#include "json_add.h"
#include "pipeline/clocks.h"
#include "session/counting_private.h"
#include "session/json_time.h"
#include "tree.h"

static void add_missing(struct json_object *object, const struct layers_missing *missing, size_t count)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < count; i++) {
		struct json_object *one = json_object_new_object();

		add_string(one, "hook", missing[i].hook);
		add_string(one, "reason", missing[i].why);
		add_flag(one, "inexact", missing[i].inexact);
		json_object_array_add(array, one);
	}
	json_object_object_add(object, "missing", array);
}

/* Those that are not counted at all. */
static uint32_t layers_of(const struct layers_missing *missing, size_t count)
{
	uint32_t layers = 0;

	for (size_t i = 0; i < count; i++)
		if (!missing[i].inexact)
			layers |= missing[i].layers;
	return layers;
}

/* What waits in the page cache for being written, by the kernel's own count. */
static uint64_t dirty_bytes(void)
{
	_cleanup_fclose_ FILE *file = tree_file("/proc/meminfo");
	uint64_t sum = 0, kib;
	int found = 0;
	char line[128];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "Dirty: %" SCNu64, &kib) == 1 || sscanf(line, "Writeback: %" SCNu64, &kib) == 1) {
			sum += kib * 1024;
			found++;
		}
	return found == 2 ? sum : UINT64_MAX;
}

static void add_statistics(struct json_object *object, const struct counting_watch *watch)
{
	struct layers_statistics statistics;

	layers_statistics(watch->counting->layers, &statistics);
	if (watch->command)
		add_u64(object, "unfollowed", statistics.unfollowed - watch->unfollowed);
	add_u64(object, "timed_one_in", IOTR_LAYER_TIMED_ONE);
	add_u64(object, "missed", statistics.missed);
}

int counting_look(struct counting_watch *watch, const struct group_wish *wished, size_t count, struct json_object **ret)
{
	struct group_wish wish = *wished;
	struct counting *counting = watch->counting;
	const struct counting_watch *seen = watch->window ? watch : counting->permanent;
	struct surroundings surroundings = { .dirty_bytes = dirty_bytes() };
	const struct layers_missing *missing = NULL;
	struct group_list list;
	struct json_object *object;
	size_t missing_count;
	int r;

	if (!seen || !counting->attached)
		return -ENOENT;
	wish.command = watch->command;
	r = counting_read(counting);
	if (r >= 0)
		r = group_window(seen->window, &wish, &list);
	if (r < 0)
		return r;
	missing_count = layers_missing(counting->layers, &missing);
	object = json_object_new_object();
	add_mono_time(object, "since", seen->since_ns);
	add_u64(object, "duration_ns", clocks_mono_ns() - seen->since_ns);
	add_string(object, "by", group_by_name(wish.by));
	surroundings.missing = layers_of(missing, missing_count);
	describe_groups(&list, &wish, count, &surroundings, object);
	add_missing(object, missing, missing_count);
	add_statistics(object, watch);
	add_flag(object, "whole", window_whole(seen->window));
	group_list_done(&list);
	*ret = object;
	return 0;
}
