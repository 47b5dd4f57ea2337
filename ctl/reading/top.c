// SPDX-License-Identifier: GPL-2.0-or-later
#include "reading/top.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "cleanup.h"
#include "reading/histogram.h"

#define SLOTS	   (2 * TOP_KEYS_MAX)
#define KEYS_BYTES (16 << 20)
#define KEPT	   (TOP_KEYS_MAX / 4) /* of the keys, when there are too many */

int top_init(struct top *top, const uint8_t *layers, size_t layer_count)
{
	top->slots = calloc(SLOTS, sizeof(*top->slots));
	top->entries = calloc(TOP_KEYS_MAX, sizeof(*top->entries));
	top->keys = malloc(KEYS_BYTES);
	top->layers = layers;
	top->layer_count = layer_count;
	return top->slots && top->entries && top->keys ? 0 : -ENOMEM;
}

void top_done(struct top *top)
{
	free(top->slots);
	free(top->entries);
	free(top->keys);
	*top = (struct top){ 0 };
}

void top_sum_add(struct top_sum *to, const struct top_sum *sum)
{
	to->ns += sum->ns;
	to->rows += sum->rows;
	to->errors += sum->errors;
	to->read += sum->read;
	to->written += sum->written;
	typical_add(&to->latency, &sum->latency);
}

/* The place of the outermost layer that there are rows of; that behind the last: there is none. */
static size_t depth_of(const struct top *top, const struct top_entry *entry)
{
	size_t depth = 0;

	while (depth < top->layer_count && !entry->sums[top->layers[depth]].rows)
		depth++;
	return depth;
}

/* What is known of the key in that layer. */
static const struct top_sum *outermost(const struct top *top, const struct top_entry *entry)
{
	size_t depth = depth_of(top, entry);

	return &entry->sums[depth < top->layer_count ? top->layers[depth] : 0];
}

/* ---- the greatest ---- */

struct ranked {
	const struct top_entry *entry;
	size_t depth;
	const struct top_sum *sum;
	uint64_t weight;
};

static uint64_t weight_in(const struct top_sum *sum, enum top_order order)
{
	switch (order) {
	case TOP_BY_BYTES:
		return sum->read + sum->written;
	case TOP_BY_ROWS:
		return sum->rows;
	case TOP_BY_ERRORS:
		return sum->errors;
	default:
		return sum->ns;
	}
}

static int compare(const void *a, const void *b)
{
	const struct ranked *left = a, *right = b;

	if (left->depth != right->depth)
		return left->depth < right->depth ? -1 : 1;
	if (left->weight != right->weight)
		return left->weight < right->weight ? 1 : -1;
	if (left->sum->ns != right->sum->ns)
		return left->sum->ns < right->sum->ns ? 1 : -1;
	if (left->sum->rows != right->sum->rows)
		return left->sum->rows < right->sum->rows ? 1 : -1;
	return left->entry < right->entry ? -1 : left->entry > right->entry; /* as they came */
}

int top_greatest(const struct top *top, enum top_order order, const struct top_entry **greatest, size_t most)
{
	size_t count = top->count < most ? top->count : most;
	_cleanup_free_ struct ranked *list = malloc((top->count + 1) * sizeof(*list));

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < top->count; i++) {
		const struct top_sum *sum = outermost(top, &top->entries[i]);

		list[i] = (struct ranked){ &top->entries[i], depth_of(top, &top->entries[i]), sum, weight_in(sum, order) };
	}
	qsort(list, top->count, sizeof(*list), compare);
	for (size_t i = 0; i < count; i++)
		greatest[i] = list[i].entry;
	return (int)count;
}

/* ---- keys ---- */

/* The slot of a key, or the free one for it. */
static uint32_t *find(const struct top *top, uint64_t hash, const char *key, size_t length)
{
	for (size_t i = hash % SLOTS;; i = (i + 1) % SLOTS) {
		const struct top_entry *entry = top->slots[i] ? &top->entries[top->slots[i] - 1] : NULL;

		if (!entry ||
		    (entry->hash == hash && entry->key_length == length && !memcmp(top_key(top, entry), key, length)))
			return &top->slots[i];
	}
}

static struct top_entry *take(struct top *top, uint32_t *slot, const char *key, size_t length)
{
	struct top_entry *entry = &top->entries[top->count];

	*slot = (uint32_t)++top->count;
	entry->key_at = (uint32_t)top->keys_used;
	entry->key_length = (uint32_t)length;
	memcpy(top->keys + top->keys_used, key, length);
	top->keys_used += length;
	return entry;
}

static void keep(struct top *to, const struct top *from, const struct top_entry *entry)
{
	const char *key = top_key(from, entry);
	struct top_entry *kept = take(to, find(to, entry->hash, key, entry->key_length), key, entry->key_length);
	uint32_t at = kept->key_at;

	*kept = *entry;
	kept->key_at = at;
}

/* By which keys are forgotten: time, and rows where none has taken any. */
static unsigned int weight(const struct top *top, const struct top_entry *entry)
{
	const struct top_sum *sum = outermost(top, entry);

	return histogram_bucket(sum->ns + sum->rows);
}

/* The least weight of which all keys are kept; of that below as many as there is room for. */
static unsigned int find_limit(const struct top *top)
{
	struct room {
		uint32_t keys, bytes;
	};
	_cleanup_free_ struct room *taken = calloc(HISTOGRAM_BUCKETS, sizeof(*taken));
	unsigned int limit = HISTOGRAM_BUCKETS;
	struct room sum = { 0 };

	for (size_t i = 0; taken && i < top->count; i++) {
		taken[weight(top, &top->entries[i])].keys++;
		taken[weight(top, &top->entries[i])].bytes += top->entries[i].key_length;
	}
	for (; taken && limit; limit--) {
		sum.keys += taken[limit - 1].keys;
		sum.bytes += taken[limit - 1].bytes;
		if (sum.keys > KEPT || sum.bytes > KEYS_BYTES / 2)
			break;
	}
	return limit;
}

static void raise_to(uint64_t *most, uint64_t value)
{
	*most = value > *most ? value : *most;
}

static void note_forgotten(struct top_sum *most, const struct top_entry *entry)
{
	for (size_t i = 0; i < TOP_LAYERS; i++) {
		raise_to(&most[i].ns, entry->sums[i].ns);
		raise_to(&most[i].rows, entry->sums[i].rows);
		raise_to(&most[i].errors, entry->sums[i].errors);
		raise_to(&most[i].read, entry->sums[i].read);
		raise_to(&most[i].written, entry->sums[i].written);
	}
}

/* Keeps the greatest. By a limit and not by sorting: this is done again and again where most keys come once. */
static int forget(struct top *top)
{
	unsigned int limit = find_limit(top);
	struct top kept = { 0 };
	struct top_sum most[TOP_LAYERS] = { 0 };

	if (top_init(&kept, top->layers, top->layer_count) < 0) {
		top_done(&kept);
		return -ENOMEM;
	}
	memcpy(kept.forgotten, top->forgotten, sizeof(kept.forgotten));
	for (unsigned int turn = 0; turn < 2; turn++)
		for (size_t i = 0; i < top->count; i++) {
			const struct top_entry *entry = &top->entries[i];
			unsigned int of = weight(top, entry);

			/* First the heavy ones, then as many of the others as there is room for. */
			if ((of >= limit) == turn)
				continue;
			if (kept.count < KEPT && kept.keys_used + entry->key_length <= KEYS_BYTES / 2 &&
			    (!turn || of + 1 == limit))
				keep(&kept, top, entry);
			else
				note_forgotten(most, entry);
		}
	for (size_t i = 0; i < TOP_LAYERS; i++)
		top_sum_add(&kept.forgotten[i], &most[i]);
	top_done(top);
	*top = kept;
	return 0;
}

bool top_forgot(const struct top *top)
{
	uint64_t rows = 0;

	for (size_t i = 0; i < TOP_LAYERS; i++)
		rows |= top->forgotten[i].rows;
	return rows;
}

static bool is_full(const struct top *top, size_t length)
{
	return top->count == TOP_KEYS_MAX || top->keys_used + length > KEYS_BYTES;
}

/* The key's entry; NULL: there is no memory. */
static struct top_entry *entry_of(struct top *top, const char *key, size_t length)
{
	uint64_t hash = XXH3_64bits(key, length);
	uint32_t *slot = find(top, hash, key, length);
	struct top_entry *entry;

	if (*slot)
		return &top->entries[*slot - 1];
	if (is_full(top, length)) {
		if (forget(top) < 0)
			return NULL;
		slot = find(top, hash, key, length);
	}
	entry = take(top, slot, key, length);
	entry->hash = hash;
	entry->at_least = top_forgot(top);
	return entry;
}

void top_add(struct top *top, const char *key, size_t length, unsigned int layer, const struct top_sum *sum)
{
	struct top_entry *entry = entry_of(top, key, length < TOP_KEY_MAX ? length : TOP_KEY_MAX);

	if (entry)
		top_sum_add(&entry->sums[layer], sum);
}

void top_add_all(struct top *top, const char *key, size_t length, const struct top_entry *other)
{
	struct top_entry *entry = entry_of(top, key, length < TOP_KEY_MAX ? length : TOP_KEY_MAX);

	for (size_t i = 0; entry && i < TOP_LAYERS; i++)
		top_sum_add(&entry->sums[i], &other->sums[i]);
}
