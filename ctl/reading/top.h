/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sums by key in bounded memory, however many keys come, for lists of the greatest. When the table is full, all
 * but the greatest quarter of the keys are forgotten. A key that comes again afterwards begins at 0, so what is told of it is less than the
 * truth by at most what was forgotten; a key that was there before the first such time is exact. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reading/typical.h"

enum {
	TOP_KEYS_MAX = 65536,
	TOP_KEY_MAX = 32768, /* bytes of a key; what is longer is cut */
};

/* What is summed up. The time goes first in the order, then rows. */
struct top_sums {
	uint64_t ns, rows, bytes, errors;
	struct typical latency; /* of rows that can be compared with a baseline (see summary.h), in its unit */
};

void top_sums_add(struct top_sums *to, const struct top_sums *sums);

struct top_entry {
	uint64_t hash;
	struct top_sums sums; /* `rows` is 0 where the slot is free */
	uint32_t key_at, key_length;
	bool at_least; /* the key may have been forgotten before */
};

struct top {
	struct top_entry *entries;
	size_t count;
	char *keys;
	size_t keys_used;
	/* So much, at most, is missing from a key that is `at_least`. */
	struct top_sums forgotten;
};

/* All-zero first. -ENOMEM. */
int top_init(struct top *top);
/* Takes an all-zero table, too. */
void top_done(struct top *top);

void top_add(struct top *top, const char *key, size_t length, const struct top_sums *sums);

/*
 * Writes the greatest, at most `most`, in their order, and returns how many. They are borrowed, and valid until the next
 * top_add(). -ENOMEM.
 */
int top_greatest(const struct top *top, const struct top_entry **greatest, size_t most);

/* The key of an entry; it is not ended by a NUL. */
static inline const char *top_key(const struct top *top, const struct top_entry *entry)
{
	return top->keys + entry->key_at;
}
