// SPDX-License-Identifier: GPL-2.0-or-later
#include "amplification/window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mix.h"

enum { BUCKETS = 4096 }; /* a power of two */

struct entry {
	struct entry *next;
	struct iotr_layer_key key;
	const struct process *process; /* held */
	struct counts counts;
	struct counts *before; /* what had been counted when the window began; NULL: nothing */
	bool ended;
};

struct window {
	struct processes *processes;
	struct entry *buckets[BUCKETS];
	size_t ended; /* accounts of processes that have ended, each by itself */
	bool begun;
	bool incomplete;
};

/* ---- counts ---- */

/* All members are numbers of 64 bits. */
#define WORDS (sizeof(struct counts) / sizeof(uint64_t))

void counts_add(struct counts *to, const struct counts *counts)
{
	const uint64_t *from = (const uint64_t *)counts;
	uint64_t *at = (uint64_t *)to;

	for (size_t i = 0; i < WORDS; i++)
		at[i] += from[i];
}

/* A count that the kernel takes back at times, as that of hits in the cache, is not below what it was. */
static void subtract(struct counts *of, const struct counts *counts)
{
	const uint64_t *from = (const uint64_t *)counts;
	uint64_t *at = (uint64_t *)of;

	for (size_t i = 0; i < WORDS; i++)
		at[i] -= from[i] < at[i] ? from[i] : at[i];
}

static bool is_zero(const struct counts *counts)
{
	for (size_t i = 0; i < IOTR_LAYER_COUNT; i++)
		if (counts->sums[i].operations || counts->sums[i].bytes || counts->sums[i].errors)
			return false;
	return true;
}

static void since_begin(const struct entry *entry, struct counts *ret)
{
	*ret = entry->counts;
	if (entry->before)
		subtract(ret, entry->before);
}

/* ---- entries ---- */

static struct entry **bucket_of(struct window *window, const struct iotr_layer_key *key)
{
	uint64_t hash = iotr_mix(iotr_mix(key->start_ns, key->process), key->device);

	return &window->buckets[hash & (BUCKETS - 1)];
}

static struct entry *find(struct window *window, const struct iotr_layer_key *key, const struct process *process)
{
	struct entry *entry = *bucket_of(window, key);

	while (entry && (memcmp(&entry->key, key, sizeof(*key)) != 0 || entry->process != process))
		entry = entry->next;
	return entry;
}

static struct entry *find_or_add(struct window *window, const struct iotr_layer_key *key, const struct process *process)
{
	struct entry *entry = find(window, key, process), **bucket = bucket_of(window, key);

	if (entry)
		return entry;
	entry = calloc(1, sizeof(*entry));
	if (!entry) {
		window->incomplete = true;
		return NULL;
	}
	entry->key = *key;
	entry->process = process_hold(process);
	entry->next = *bucket;
	*bucket = entry;
	return entry;
}

static void entry_free(struct window *window, struct entry *entry)
{
	processes_let_go(window->processes, entry->process);
	free(entry->before);
	free(entry);
}

/* ---- very many that have ended ---- */

static void fold_one(struct window *window, const struct entry *entry)
{
	const struct iotr_layer_key key = { .device = entry->key.device };
	const struct process *ended = processes_ended(window->processes, entry->process);
	struct entry *to = ended ? find_or_add(window, &key, ended) : NULL;
	struct counts counts;

	since_begin(entry, &counts);
	if (to)
		counts_add(&to->counts, &counts);
	else
		window->incomplete = true;
	if (ended)
		processes_let_go(window->processes, ended);
}

static void fold(struct window *window)
{
	struct entry *ended = NULL, *entry;

	for (size_t i = 0; i < BUCKETS; i++)
		for (struct entry **at = &window->buckets[i]; (entry = *at);) {
			if (!entry->ended) {
				at = &entry->next;
				continue;
			}
			*at = entry->next;
			entry->next = ended;
			ended = entry;
		}
	while ((entry = ended)) {
		ended = entry->next;
		fold_one(window, entry);
		entry_free(window, entry);
	}
	window->ended = 0;
}

/* ---- what is told ---- */

static void begin_with(struct window *window, struct entry *entry)
{
	entry->before = malloc(sizeof(*entry->before));
	if (entry->before)
		*entry->before = entry->counts;
	else
		window->incomplete = true;
}

void window_add(struct window *window, const struct iotr_layer_key *key, const struct process *process,
		const struct counts *counts, bool last)
{
	struct entry *entry;

	if (last && !window->begun)
		return;
	entry = find_or_add(window, key, process);
	if (!entry)
		return;
	entry->counts = *counts;
	entry->ended = last;
	window->ended += last;
	if (!window->begun && !entry->before)
		begin_with(window, entry);
}

void window_tidy(struct window *window)
{
	if (window->ended > WINDOW_ENDED_MAX)
		fold(window);
}

void window_begin(struct window *window)
{
	window->begun = true;
}

bool window_whole(const struct window *window)
{
	return !window->incomplete;
}

void window_each(const struct window *window, window_handler handler, void *userdata)
{
	struct counts counts;

	for (size_t i = 0; i < BUCKETS; i++)
		for (const struct entry *entry = window->buckets[i]; entry; entry = entry->next) {
			since_begin(entry, &counts);
			if (!is_zero(&counts))
				handler(entry->process, entry->key.device, &counts, userdata);
		}
}

/* ---- life ---- */

int window_new(struct processes *processes, struct window **ret)
{
	struct window *window = calloc(1, sizeof(*window));

	if (!window)
		return -ENOMEM;
	window->processes = processes;
	*ret = window;
	return 0;
}

void window_free(struct window *window)
{
	struct entry *entry;

	if (!window)
		return;
	for (size_t i = 0; i < BUCKETS; i++)
		while ((entry = window->buckets[i])) {
			window->buckets[i] = entry->next;
			entry_free(window, entry);
		}
	free(window);
}
