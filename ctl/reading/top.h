/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sums by key and layer in bounded memory, however many keys come, for lists of the greatest. A call, the pages that it needs and the
 * requests that these become are of different layers, so that sums of layers are never added up. When the table is full, all
 * but the greatest quarter of the keys are forgotten. A key that comes again afterwards begins at 0, so what is told of it is less than
 * the truth by at most what was forgotten; a key that was there before the first such time is exact. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reading/typical.h"

enum {
	TOP_LAYERS = 12, /* at most */
	TOP_KEYS_MAX = 65536,
	TOP_KEY_MAX = 32768, /* bytes of a key; what is longer is cut */
};

/* What is summed up, of one layer. */
struct top_sum {
	uint64_t ns, rows, errors, read, written;
	struct typical latency; /* of rows that can be compared with a baseline (see summary.h), in its unit */
};

void top_sum_add(struct top_sum *to, const struct top_sum *sum);

struct top_entry {
	uint64_t hash;
	uint32_t key_at, key_length;
	bool at_least; /* the key may have been forgotten before */
	struct top_sum sums[TOP_LAYERS];
};

/* By what the greatest are; then by time, then by rows. */
enum top_order { TOP_BY_TIME, TOP_BY_BYTES, TOP_BY_ROWS, TOP_BY_ERRORS };

struct top {
	uint32_t *slots; /* 1 + index of an entry; 0: free */
	struct top_entry *entries;
	size_t count;
	char *keys;
	size_t keys_used;
	/* Outermost first. A key is as great as it is in the first layer that it has rows of, and less than those of layers before. */
	const uint8_t *layers;
	size_t layer_count;
	/* So much, at most, is missing from a key that is `at_least`. */
	struct top_sum forgotten[TOP_LAYERS];
};

/* All-zero first. `layers` is borrowed. -ENOMEM. */
int top_init(struct top *top, const uint8_t *layers, size_t layer_count);
/* Takes an all-zero table, too. */
void top_done(struct top *top);

void top_add(struct top *top, const char *key, size_t length, unsigned int layer, const struct top_sum *sum);

/* Adds an entry of another table to the key. */
void top_add_all(struct top *top, const char *key, size_t length, const struct top_entry *entry);

/* Whether keys were forgotten. */
bool top_forgot(const struct top *top);

/*
 * Writes the greatest, at most `most`, in their order, and returns how many. They are borrowed, and valid until the next
 * top_add(). -ENOMEM.
 */
int top_greatest(const struct top *top, enum top_order order, const struct top_entry **greatest, size_t most);

/* The key of an entry; it is not ended by a NUL. */
static inline const char *top_key(const struct top *top, const struct top_entry *entry)
{
	return top->keys + entry->key_at;
}
