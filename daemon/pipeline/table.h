/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A hash table from 64-bit keys to pointers, open addressing with linear probing, that grows and
 * never holds tombstones. Values are not NULL and not owned. One thread at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct table_slot {
	uint64_t key;
	void *value; /* NULL: free */
};

struct table {
	struct table_slot *slots;
	size_t mask; /* slots - 1 */
	size_t count;
};

int table_init(struct table *table);
void table_done(struct table *table);

/* NULL when there is none. */
void *table_get(const struct table *table, uint64_t key);

/* Adds or replaces. -ENOMEM. */
int table_set(struct table *table, uint64_t key, void *value);

void table_remove(struct table *table, uint64_t key);
