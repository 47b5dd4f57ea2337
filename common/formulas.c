// SPDX-License-Identifier: GPL-2.0-or-later
#include "formulas.h"

#include <stddef.h>

#define BIT(layer) (1U << (layer))

static const char *const flow_names[FLOWS] = { "read", "write" };
static const char *const stage_names[STAGES] = { "application", "vfs", "cache", "filesystem", "device" };

const char *flow_name(enum flow flow)
{
	return flow_names[flow];
}

const char *stage_name(enum stage stage)
{
	return stage_names[stage];
}

/* ---- what a layer is made of ---- */

/* The counts whose operations, and those whose bytes, make up a layer: bits of enum iotr_layer. */
struct parts {
	uint32_t operations, bytes;
};

static const struct parts parts[FLOWS][STAGES] = {
	[FLOW_READ] = {
		[STAGE_APPLICATION] = { BIT(IOTR_LAYER_APP_READ), BIT(IOTR_LAYER_APP_READ) | BIT(IOTR_LAYER_MAP_READ) },
		[STAGE_VFS] = { BIT(IOTR_LAYER_APP_READ) | BIT(IOTR_LAYER_MAP_READ),
				BIT(IOTR_LAYER_APP_READ) | BIT(IOTR_LAYER_MAP_READ) },
		[STAGE_CACHE] = { BIT(IOTR_LAYER_CACHE_MISS) | BIT(IOTR_LAYER_CACHE_READAHEAD),
				  BIT(IOTR_LAYER_CACHE_MISS) | BIT(IOTR_LAYER_CACHE_READAHEAD) },
		[STAGE_FILESYSTEM] = { BIT(IOTR_LAYER_FS_READ) | BIT(IOTR_LAYER_FS_METADATA_READ),
				       BIT(IOTR_LAYER_FS_READ) | BIT(IOTR_LAYER_FS_METADATA_READ) },
		[STAGE_DEVICE] = { BIT(IOTR_LAYER_DEVICE_READ), BIT(IOTR_LAYER_DEVICE_READ) },
	},
	[FLOW_WRITE] = {
		[STAGE_APPLICATION] = { BIT(IOTR_LAYER_APP_WRITE),
					BIT(IOTR_LAYER_APP_WRITE) | BIT(IOTR_LAYER_MAP_WRITE) },
		[STAGE_VFS] = { BIT(IOTR_LAYER_APP_WRITE) | BIT(IOTR_LAYER_MAP_WRITE),
				BIT(IOTR_LAYER_APP_WRITE) | BIT(IOTR_LAYER_MAP_WRITE) },
		[STAGE_CACHE] = { BIT(IOTR_LAYER_CACHE_DIRTIED), BIT(IOTR_LAYER_CACHE_DIRTIED) },
		[STAGE_FILESYSTEM] = { BIT(IOTR_LAYER_FS_WRITE) | BIT(IOTR_LAYER_FS_METADATA_WRITE) |
					       BIT(IOTR_LAYER_FS_JOURNAL_WRITE),
				       BIT(IOTR_LAYER_FS_WRITE) | BIT(IOTR_LAYER_FS_METADATA_WRITE) |
					       BIT(IOTR_LAYER_FS_JOURNAL_WRITE) },
		[STAGE_DEVICE] = { BIT(IOTR_LAYER_DEVICE_WRITE), BIT(IOTR_LAYER_DEVICE_WRITE) },
	},
};

static void add_up(const struct parts *of, const struct iotr_layer_sum *sums, struct iotr_layer_sum *ret)
{
	for (unsigned int layer = 0; layer < IOTR_LAYER_COUNT; layer++) {
		if (of->operations & BIT(layer)) {
			ret->operations += sums[layer].operations;
			ret->errors += sums[layer].errors;
		}
		if (of->bytes & BIT(layer))
			ret->bytes += sums[layer].bytes;
	}
}

static uint64_t beyond(uint64_t whole, uint64_t part)
{
	return whole > part ? whole - part : 0;
}

static uint64_t pending(const struct iotr_layer_sum *sums, uint64_t dirty_bytes)
{
	uint64_t folios = sums[IOTR_LAYER_CACHE_FOLIOS].bytes;
	uint64_t written = sums[IOTR_LAYER_APP_WRITE].bytes + sums[IOTR_LAYER_MAP_WRITE].bytes;
	uint64_t dirtied = sums[IOTR_LAYER_CACHE_DIRTIED].bytes, most = folios < written ? folios : written, bytes;

	/* A folio that is dirty already may have got more: no more than it has, or than was written. */
	bytes = beyond(dirtied > most ? dirtied : most,
		       sums[IOTR_LAYER_FS_WRITE].bytes + sums[IOTR_LAYER_FS_METADATA_WRITE].bytes);

	return bytes < dirty_bytes ? bytes : dirty_bytes;
}

/* What loop devices did is never known below them; of other stacked disks it is, but for what the disks below have less of. */
static uint64_t unseen(const struct iotr_layer_sum *sums, enum iotr_layer loop, enum iotr_layer stacked, enum iotr_layer device)
{
	return sums[loop].bytes + beyond(sums[stacked].bytes, sums[device].bytes);
}

void flow_counts(enum flow flow, const struct iotr_layer_sum sums[IOTR_LAYER_COUNT],
		 const struct surroundings *surroundings, struct flow_counts *ret)
{
	*ret = (struct flow_counts){ 0 };
	for (unsigned int stage = 0; stage < STAGES; stage++) {
		const struct parts *of = &parts[flow][stage];

		add_up(of, sums, &ret->stages[stage]);
		if ((of->operations & surroundings->missing) == of->operations)
			ret->uncounted |= BIT(stage);
	}
	ret->unseen_bytes = flow == FLOW_READ ? unseen(sums, IOTR_LAYER_LOOP_READ, IOTR_LAYER_STACKED_READ, IOTR_LAYER_DEVICE_READ) :
						unseen(sums, IOTR_LAYER_LOOP_WRITE, IOTR_LAYER_STACKED_WRITE,
						       IOTR_LAYER_DEVICE_WRITE);
	if (flow == FLOW_READ)
		ret->cached_bytes = beyond(sums[IOTR_LAYER_CACHE_HIT].bytes, sums[IOTR_LAYER_CACHE_READAHEAD].bytes);
	else
		ret->pending_bytes = pending(sums, surroundings->dirty_bytes);
}

/* ---- the formulas ---- */

static const char *const uncounted[STAGES] = {
	[STAGE_APPLICATION] = "the kernel does not tell what applications do",
	[STAGE_VFS] = "the kernel does not tell what reaches files",
	[STAGE_CACHE] = "the kernel does not tell what the page cache does",
	[STAGE_FILESYSTEM] = "the kernel does not tell what file systems do",
	[STAGE_DEVICE] = "the kernel does not tell what reaches the disks",
};

static struct factor unknown(const char *reason)
{
	return (struct factor){ .reason = reason };
}

/* The first of these layers that is not counted, or NULL. */
static const char *find_uncounted(const struct flow_counts *counts, uint32_t stages)
{
	for (unsigned int stage = 0; stage < STAGES; stage++)
		if (stages & counts->uncounted & BIT(stage))
			return uncounted[stage];
	return NULL;
}

bool flow_device_unknown(const struct flow_counts *counts)
{
	return counts->unseen_bytes && !counts->stages[STAGE_DEVICE].bytes;
}

#define UNSEEN "what disks below a stacked one, as loop, did for it is not known"

/* `below`: what the cache holds back will be counted there yet. */
static struct factor divide(const struct flow_counts *counts, uint64_t number, uint64_t by, bool below)
{
	struct factor factor = { .known = true, .value = (double)number / (double)by };

	if (below && counts->pending_bytes) {
		factor.at_least = true;
		factor.reason = "not all that was written is back from the page cache";
	}
	return factor;
}

/* The same of what disks did, of which not all may be known. */
static struct factor divide_device(const struct flow_counts *counts, uint64_t number, uint64_t by)
{
	struct factor factor = divide(counts, number, by, true);

	if (counts->unseen_bytes) {
		factor.at_least = true;
		factor.reason = UNSEEN;
	}
	return factor;
}

struct factor factor_by_operations(const struct flow_counts *counts)
{
	const struct iotr_layer_sum *stages = counts->stages;
	const char *reason = find_uncounted(counts, BIT(STAGE_APPLICATION) | BIT(STAGE_VFS) | BIT(STAGE_DEVICE));

	if (reason)
		return unknown(reason);
	if (!stages[STAGE_APPLICATION].operations)
		return unknown("there was no system call to divide by");
	return divide_device(counts, stages[STAGE_VFS].operations + stages[STAGE_DEVICE].operations,
			     stages[STAGE_APPLICATION].operations);
}

struct factor factor_by_bytes(const struct flow_counts *counts)
{
	return factor_of_stage(counts, STAGE_DEVICE);
}

struct factor factor_of_stage(const struct flow_counts *counts, enum stage stage)
{
	const struct iotr_layer_sum *stages = counts->stages;
	const char *reason = find_uncounted(counts, BIT(STAGE_APPLICATION) | BIT(stage));

	if (reason)
		return unknown(reason);
	if (!stages[STAGE_APPLICATION].bytes)
		return unknown("there was no byte of the application to divide by");
	if (stage >= STAGE_FILESYSTEM && counts->pending_bytes && !stages[stage].bytes)
		return unknown("nothing that was written is back from the page cache yet");
	if (stage == STAGE_DEVICE && flow_device_unknown(counts))
		return unknown(UNSEEN);
	if (stage == STAGE_DEVICE)
		return divide_device(counts, stages[stage].bytes, stages[STAGE_APPLICATION].bytes);
	return divide(counts, stages[stage].bytes, stages[STAGE_APPLICATION].bytes, stage >= STAGE_FILESYSTEM);
}
