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

int top_init(struct top *top)
{
	top->entries = calloc(SLOTS, sizeof(*top->entries));
	top->keys = malloc(KEYS_BYTES);
	return top->entries && top->keys ? 0 : -ENOMEM;
}

void top_done(struct top *top)
{
	free(top->entries);
	free(top->keys);
	*top = (struct top){ 0 };
}

void top_sums_add(struct top_sums *to, const struct top_sums *sums)
{
	to->ns += sums->ns;
	to->rows += sums->rows;
	to->bytes += sums->bytes;
	to->errors += sums->errors;
	typical_add(&to->latency, &sums->latency);
}

static int compare(const void *a, const void *b)
{
	const struct top_sums *left = &(*(const struct top_entry *const *)a)->sums;
	const struct top_sums *right = &(*(const struct top_entry *const *)b)->sums;

	if (left->ns != right->ns)
		return left->ns < right->ns ? 1 : -1;
	return left->rows < right->rows ? 1 : -(left->rows > right->rows);
}

/* All entries in their order. The caller frees the list; NULL: out of memory. */
static const struct top_entry **sorted(const struct top *top)
{
	const struct top_entry **list = malloc((top->count + 1) * sizeof(*list));
	size_t used = 0;

	if (!list)
		return NULL;
	for (size_t i = 0; i < SLOTS; i++)
		if (top->entries[i].sums.rows)
			list[used++] = &top->entries[i];
	qsort(list, used, sizeof(*list), compare);
	return list;
}

static struct top_entry *find(struct top *top, uint64_t hash, const char *key, size_t length)
{
	for (size_t i = hash % SLOTS;; i = (i + 1) % SLOTS) {
		struct top_entry *entry = &top->entries[i];

		if (!entry->sums.rows ||
		    (entry->hash == hash && entry->key_length == length && !memcmp(top_key(top, entry), key, length)))
			return entry;
	}
}

static void keep(struct top *to, const struct top *from, const struct top_entry *entry)
{
	struct top_entry *slot = find(to, entry->hash, top_key(from, entry), entry->key_length);

	*slot = *entry;
	slot->key_at = (uint32_t)to->keys_used;
	memcpy(to->keys + to->keys_used, top_key(from, entry), entry->key_length);
	to->keys_used += entry->key_length;
	to->count++;
}

/* By which keys are forgotten: time, and rows where none has taken any. */
static unsigned int weight(const struct top_entry *entry)
{
	return histogram_bucket(entry->sums.ns + entry->sums.rows);
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

	for (size_t i = 0; taken && i < SLOTS; i++) {
		const struct top_entry *entry = &top->entries[i];

		if (!entry->sums.rows)
			continue;
		taken[weight(entry)].keys++;
		taken[weight(entry)].bytes += entry->key_length;
	}
	for (; taken && limit; limit--) {
		sum.keys += taken[limit - 1].keys;
		sum.bytes += taken[limit - 1].bytes;
		if (sum.keys > KEPT || sum.bytes > KEYS_BYTES / 2)
			break;
	}
	return limit;
}

static void note_forgotten(struct top_sums *most, const struct top_sums *sums)
{
	most->ns = sums->ns > most->ns ? sums->ns : most->ns;
	most->rows = sums->rows > most->rows ? sums->rows : most->rows;
	most->bytes = sums->bytes > most->bytes ? sums->bytes : most->bytes;
	most->errors = sums->errors > most->errors ? sums->errors : most->errors;
}

/* Keeps the greatest. By a limit and not by sorting: this is done again and again where most keys come once. */
static int forget(struct top *top)
{
	unsigned int limit = find_limit(top);
	struct top kept = { .forgotten = top->forgotten };
	struct top_sums most = { 0 };

	if (top_init(&kept) < 0) {
		top_done(&kept);
		return -ENOMEM;
	}
	for (unsigned int turn = 0; turn < 2; turn++)
		for (size_t i = 0; i < SLOTS; i++) {
			const struct top_entry *entry = &top->entries[i];

			/* First the heavy ones, then as many of the others as there is room for. */
			if (!entry->sums.rows || (weight(entry) >= limit) == turn)
				continue;
			if (kept.count < KEPT && kept.keys_used + entry->key_length <= KEYS_BYTES / 2 &&
			    (!turn || weight(entry) + 1 == limit))
				keep(&kept, top, entry);
			else
				note_forgotten(&most, &entry->sums);
		}
	top_sums_add(&kept.forgotten, &most);
	top_done(top);
	*top = kept;
	return 0;
}

static bool is_full(const struct top *top, size_t length)
{
	return top->count == TOP_KEYS_MAX || top->keys_used + length > KEYS_BYTES;
}

static struct top_entry *insert(struct top *top, uint64_t hash, const char *key, size_t length)
{
	struct top_entry *entry;

	if (is_full(top, length) && forget(top) < 0)
		return NULL;
	entry = find(top, hash, key, length);
	*entry = (struct top_entry){ .hash = hash, .key_at = (uint32_t)top->keys_used,
				     .key_length = (uint32_t)length, .at_least = top->forgotten.rows > 0 };
	memcpy(top->keys + top->keys_used, key, length);
	top->keys_used += length;
	top->count++;
	return entry;
}

void top_add(struct top *top, const char *key, size_t length, const struct top_sums *sums)
{
	struct top_entry *entry;
	uint64_t hash;

	if (length > TOP_KEY_MAX)
		length = TOP_KEY_MAX;
	hash = XXH3_64bits(key, length);
	entry = find(top, hash, key, length);
	if (!entry->sums.rows)
		entry = insert(top, hash, key, length);
	if (!entry)
		return;
	top_sums_add(&entry->sums, sums);
}

int top_greatest(const struct top *top, const struct top_entry **greatest, size_t most)
{
	_cleanup_free_ const struct top_entry **list = sorted(top);
	size_t count = top->count < most ? top->count : most;

	if (!list)
		return -ENOMEM;
	memcpy(greatest, list, count * sizeof(*list));
	return (int)count;
}
