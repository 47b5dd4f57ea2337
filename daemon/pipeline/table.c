// SPDX-License-Identifier: GPL-2.0-or-later
#include "table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS_AT_FIRST 256

static size_t slot_of(const struct table *table, uint64_t key)
{
	return (key * 0x9e3779b97f4a7c15ULL >> 40) & table->mask;
}

/* The slot that has the key, otherwise the free one where it belongs. */
static struct table_slot *find(const struct table *table, uint64_t key)
{
	size_t at = slot_of(table, key);

	while (table->slots[at].value && table->slots[at].key != key)
		at = (at + 1) & table->mask;
	return &table->slots[at];
}

int table_init(struct table *table)
{
	table->slots = calloc(SLOTS_AT_FIRST, sizeof(*table->slots));
	if (!table->slots)
		return -ENOMEM;
	table->mask = SLOTS_AT_FIRST - 1;
	table->count = 0;
	return 0;
}

void table_done(struct table *table)
{
	free(table->slots);
	memset(table, 0, sizeof(*table));
}

void *table_get(const struct table *table, uint64_t key)
{
	return find(table, key)->value;
}

static int grow(struct table *table)
{
	struct table larger = { .mask = 2 * table->mask + 1, .count = table->count };

	larger.slots = calloc(larger.mask + 1, sizeof(*larger.slots));
	if (!larger.slots)
		return -ENOMEM;
	for (size_t i = 0; i <= table->mask; i++)
		if (table->slots[i].value)
			*find(&larger, table->slots[i].key) = table->slots[i];
	free(table->slots);
	*table = larger;
	return 0;
}

int table_set(struct table *table, uint64_t key, void *value)
{
	struct table_slot *slot = find(table, key);

	if (slot->value) {
		slot->value = value;
		return 0;
	}
	if (4 * (table->count + 1) > 3 * (table->mask + 1)) {
		if (grow(table) < 0)
			return -ENOMEM;
		slot = find(table, key);
	}
	*slot = (struct table_slot){ key, value };
	table->count++;
	return 0;
}

/* Whether the entry at `at` may move to the hole: its own place does not lie between them. */
static bool may_fill(const struct table *table, size_t hole, size_t at)
{
	size_t home = slot_of(table, table->slots[at].key);

	return ((at - home) & table->mask) >= ((at - hole) & table->mask);
}

void table_remove(struct table *table, uint64_t key)
{
	struct table_slot *slot = find(table, key);
	size_t hole = (size_t)(slot - table->slots);

	if (!slot->value)
		return;
	for (size_t at = (hole + 1) & table->mask; table->slots[at].value;
	     at = (at + 1) & table->mask) {
		if (!may_fill(table, hole, at))
			continue;
		table->slots[hole] = table->slots[at];
		hole = at;
	}
	table->slots[hole].value = NULL;
	table->count--;
}
