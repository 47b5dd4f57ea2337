// SPDX-License-Identifier: GPL-2.0-or-later
#include "amplification/describe.h"

#include <stdio.h>
#include <string.h>

#include "digits.h"
#include "escape.h"
#include "formulas_json.h"
#include "json_add.h"

#define MINOR_BITS 20

/* ---- latencies ---- */

/* Lower bound of a bucket of the histogram, in nanoseconds. */
static uint64_t bucket_begin(size_t bucket)
{
	return bucket ? 64ULL << bucket : 0;
}

/* What the given share of latencies, in percent, does not go beyond: the end of a bucket. */
static uint64_t percentile(const uint64_t *histogram, uint64_t whole, unsigned int percent)
{
	uint64_t sum = 0;

	for (size_t bucket = 0; bucket < IOTR_LAYER_BUCKETS; bucket++) {
		sum += histogram[bucket];
		if (sum * 100 >= whole * percent)
			return bucket_begin(bucket + 1);
	}
	return bucket_begin(IOTR_LAYER_BUCKETS);
}

/* Buckets that are not empty. */
static struct json_object *histogram_describe(const uint64_t *histogram)
{
	struct json_object *array = json_object_new_array();

	for (size_t bucket = 0; bucket < IOTR_LAYER_BUCKETS; bucket++) {
		struct json_object *object;

		if (!histogram[bucket])
			continue;
		object = json_object_new_object();
		add_u64(object, "from_ns", bucket_begin(bucket));
		add_u64(object, "to_ns", bucket_begin(bucket + 1));
		add_u64(object, "operations", histogram[bucket]);
		json_object_array_add(array, object);
	}
	return array;
}

#define BIT(layer) (1U << IOTR_LAYER_##layer)

_Static_assert(IOTR_LAYER_TIMED <= 32, "more layers than bits");

/* Latencies of layers, as bits, together. NULL: nothing was timed. */
static struct json_object *latency_describe(const struct counts *counts, uint32_t layers)
{
	uint64_t histogram[IOTR_LAYER_BUCKETS] = { 0 }, whole = 0, sum_ns = 0;
	struct json_object *object;

	for (size_t layer = 0; layer < IOTR_LAYER_TIMED; layer++) {
		if (!(layers >> layer & 1))
			continue;
		sum_ns += counts->latency_ns[layer];
		for (size_t bucket = 0; bucket < IOTR_LAYER_BUCKETS; bucket++)
			histogram[bucket] += counts->latency[layer][bucket];
	}
	for (size_t bucket = 0; bucket < IOTR_LAYER_BUCKETS; bucket++)
		whole += histogram[bucket];
	if (!whole)
		return NULL;
	object = json_object_new_object();
	add_u64(object, "timed", whole);
	add_u64(object, "mean_ns", sum_ns / whole);
	add_u64(object, "p50_ns", percentile(histogram, whole, 50));
	add_u64(object, "p99_ns", percentile(histogram, whole, 99));
	json_object_object_add(object, "histogram", histogram_describe(histogram));
	return object;
}

/* ---- layers ---- */

static void add_sum(struct json_object *object, const struct iotr_layer_sum *sum)
{
	add_u64(object, "operations", sum->operations);
	add_u64(object, "bytes", sum->bytes);
	add_u64(object, "errors", sum->errors);
}

/* The counts whose latencies are a layer's, as bits; 0: it has none. What had to wait for other layers is not the cache's. */
static const uint32_t timed[FLOWS][STAGES] = {
	[FLOW_READ] = {
		[STAGE_APPLICATION] = BIT(APP_READ),
		[STAGE_CACHE] = BIT(CACHE_HIT),
		[STAGE_FILESYSTEM] = BIT(FS_READ) | BIT(FS_METADATA_READ),
		[STAGE_DEVICE] = BIT(DEVICE_READ),
	},
	[FLOW_WRITE] = {
		[STAGE_APPLICATION] = BIT(APP_WRITE),
		[STAGE_CACHE] = BIT(CACHE_DIRTIED),
		[STAGE_FILESYSTEM] = BIT(FS_WRITE) | BIT(FS_METADATA_WRITE) | BIT(FS_JOURNAL_WRITE),
		[STAGE_DEVICE] = BIT(DEVICE_WRITE),
	},
};

static struct json_object *stage_describe(const struct counts *counts, const struct flow_counts *flow_counts,
					  enum flow flow, enum stage stage)
{
	struct json_object *object = json_object_new_object();

	if (flow_counts->uncounted >> stage & 1 || (stage == STAGE_DEVICE && flow_device_unknown(flow_counts))) {
		json_object_object_add(object, "operations", NULL);
		json_object_object_add(object, "bytes", NULL);
		json_object_object_add(object, "errors", NULL);
	} else {
		add_sum(object, &flow_counts->stages[stage]);
	}
	if (timed[flow][stage])
		json_object_object_add(object, "latency", latency_describe(counts, timed[flow][stage]));
	json_object_object_add(object, "factor", factor_describe(factor_of_stage(flow_counts, stage)));
	return object;
}

static struct json_object *flow_describe(const struct counts *counts, enum flow flow, const struct surroundings *surroundings)
{
	struct json_object *object = json_object_new_object();
	struct flow_counts flow_sums;

	flow_counts(flow, counts->sums, surroundings, &flow_sums);
	for (size_t stage = 0; stage < STAGES; stage++)
		json_object_object_add(object, stage_name(stage), stage_describe(counts, &flow_sums, flow, stage));
	json_object_object_add(object, "by_operations", factor_describe(factor_by_operations(&flow_sums)));
	json_object_object_add(object, "by_bytes", factor_describe(factor_by_bytes(&flow_sums)));
	if (flow == FLOW_READ)
		add_u64(object, "from_cache_bytes", flow_sums.cached_bytes);
	else
		add_u64(object, "not_back_bytes", flow_sums.pending_bytes);
	return object;
}

/* Every count by its own name, for those who want to know what a layer is made of. */
static struct json_object *parts_describe(const struct counts *counts, const struct surroundings *surroundings)
{
	static const char *const names[IOTR_LAYER_COUNT] = {
		[IOTR_LAYER_APP_READ] = "calls_read",
		[IOTR_LAYER_APP_WRITE] = "calls_write",
		[IOTR_LAYER_APP_SYNC] = "calls_sync",
		[IOTR_LAYER_DEVICE_READ] = "device_read",
		[IOTR_LAYER_DEVICE_WRITE] = "device_write",
		[IOTR_LAYER_DEVICE_FLUSH] = "device_flush",
		[IOTR_LAYER_DEVICE_DISCARD] = "device_discard",
		[IOTR_LAYER_MAP_READ] = "mapped_read",
		[IOTR_LAYER_MAP_WRITE] = "mapped_write",
		[IOTR_LAYER_CACHE_HIT] = "cache_hit",
		[IOTR_LAYER_CACHE_MISS] = "cache_miss",
		[IOTR_LAYER_CACHE_READAHEAD] = "cache_readahead",
		[IOTR_LAYER_CACHE_DIRTIED] = "cache_dirtied",
		[IOTR_LAYER_CACHE_FOLIOS] = "cache_folios",
		[IOTR_LAYER_LOOP_READ] = "loop_read",
		[IOTR_LAYER_LOOP_WRITE] = "loop_write",
		[IOTR_LAYER_STACKED_READ] = "stacked_read",
		[IOTR_LAYER_STACKED_WRITE] = "stacked_write",
		[IOTR_LAYER_FS_READ] = "data_read",
		[IOTR_LAYER_FS_WRITE] = "data_write",
		[IOTR_LAYER_FS_METADATA_READ] = "metadata_read",
		[IOTR_LAYER_FS_METADATA_WRITE] = "metadata_write",
		[IOTR_LAYER_FS_JOURNAL_WRITE] = "journal_write",
	};
	struct json_object *object = json_object_new_object();

	for (size_t layer = 0; layer < IOTR_LAYER_COUNT; layer++) {
		struct json_object *part = surroundings->missing >> layer & 1 ? NULL : json_object_new_object();

		if (part)
			add_sum(part, &counts->sums[layer]);
		if (part && layer < IOTR_LAYER_TIMED)
			json_object_object_add(part, "latency", latency_describe(counts, 1U << layer));
		json_object_object_add(object, names[layer], part);
	}
	return object;
}

static void add_counts(struct json_object *object, const struct counts *counts, const struct surroundings *surroundings)
{
	for (size_t flow = 0; flow < FLOWS; flow++)
		json_object_object_add(object, flow_name(flow), flow_describe(counts, flow, surroundings));
	json_object_object_add(object, "parts", parts_describe(counts, surroundings));
}

/* ---- groups ---- */

static void add_escaped(struct json_object *object, const char *key, const char *text)
{
	char escaped[ESCAPE_MAX(CGROUP_UNIT_SIZE)];
	size_t length = escape_cell(text, strnlen(text, CGROUP_UNIT_SIZE), escaped);

	json_object_object_add(object, key,
			       length ? json_object_new_string_len(escaped, (int)length) : NULL);
}

static void add_process(struct json_object *object, const struct process *process)
{
	if (process->id)
		add_u64(object, "pid", process->id);
	add_escaped(object, "system", process->system);
	add_escaped(object, "unit", process->unit);
	add_escaped(object, "container", process->container_id);
}

static struct json_object *group_describe(const struct group *group, const struct surroundings *surroundings)
{
	static const char *const kinds[] = {
		[GROUP_NAMED] = "named",
		[GROUP_NONE] = "none",
		[GROUP_KERNEL] = "kernel",
		[GROUP_NO_ROOM] = "no_room",
	};
	struct json_object *object = json_object_new_object();
	char device[32 + DIGITS_SLACK], *end;

	add_string(object, "kind", kinds[group->kind]);
	add_escaped(object, "name", group->name);
	if (group->process)
		add_process(object, group->process);
	if (group->device) {
		end = digits_u64(device, group->device >> MINOR_BITS);
		*end++ = ':';
		*digits_minor(end, group->device & ((1U << MINOR_BITS) - 1)) = '\0';
		add_string(object, "device", device);
	}
	add_counts(object, &group->counts, surroundings);
	return object;
}

static struct json_object *sum_describe(const struct counts *counts, const struct surroundings *surroundings)
{
	struct json_object *object = json_object_new_object();

	add_counts(object, counts, surroundings);
	return object;
}

void describe_groups(const struct group_list *list, const struct group_wish *wish, size_t count,
		     const struct surroundings *surroundings, struct json_object *object)
{
	struct json_object *groups = json_object_new_array();
	struct counts others = { 0 };

	for (size_t i = 0; i < list->count; i++)
		if (i < count)
			json_object_array_add(groups, group_describe(&list->groups[i], surroundings));
		else
			counts_add(&others, &list->groups[i].counts);
	json_object_object_add(object, "groups", groups);
	json_object_object_add(object, "others", list->count > count ? sum_describe(&others, surroundings) : NULL);
	json_object_object_add(object, "all", sum_describe(&list->all, surroundings));
	json_object_object_add(object, "command", wish->command ? sum_describe(&list->command, surroundings) : NULL);
}
