// SPDX-License-Identifier: GPL-2.0-or-later
#include "recorder.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/queue.h>

#include "clocks.h"
#include "queue.h"

#define load(counter)	    atomic_load_explicit(&(counter), memory_order_relaxed)
#define store(counter, now) atomic_store_explicit(&(counter), now, memory_order_relaxed)

/* A part of the recorder's memory; its counters are written by the consumer thread alone. */
struct chunk {
	STAILQ_ENTRY(chunk) entry; /* under the recorder's lock */
	_Atomic unsigned int holders;
	_Atomic uint32_t used;	 /* bytes of entries that are complete */
	_Atomic uint64_t last_ns; /* the latest end of an operation in it, CLOCK_MONOTONIC */
	_Atomic uint64_t rows[IOTR_STREAM_COUNT];
	_Alignas(8) char data[];
};

STAILQ_HEAD(chunk_list, chunk);

_Static_assert(sizeof(struct chunk) + QUEUE_ENTRY_MAX <= RECORDER_CHUNK,
	       "a row fits into an empty chunk");

struct recorder {
	size_t most;	 /* of chunks */
	uint32_t streams;
	struct chunk *current; /* the consumer thread's: the last of the list, or NULL */
	_Atomic uint64_t received[IOTR_STREAM_COUNT];
	_Atomic uint64_t lost[IOTR_STREAM_COUNT];
	_Atomic uint64_t lost_names[IOTR_STREAM_COUNT];
	_Atomic uint64_t bytes[IOTR_STREAM_COUNT];
	pthread_mutex_t lock; /* for all members below */
	struct chunk_list chunks;
	size_t count;
	uint64_t overwritten[IOTR_STREAM_COUNT];
	bool overwrites; /* chunks have been overwritten */
	uint64_t reaches_ns;
};

struct recorder_view {
	uint64_t since_ns;
	uint32_t at; /* bytes read of the first chunk that is left */
	size_t next, count;
	struct {
		struct chunk *chunk;
		uint32_t used;
	} parts[];
};

static struct chunk *chunk_new(void)
{
	struct chunk *chunk = mmap(NULL, RECORDER_CHUNK, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (chunk == MAP_FAILED)
		return NULL;
	store(chunk->holders, 1);
	return chunk;
}

static void chunk_release(struct chunk *chunk)
{
	if (atomic_fetch_sub(&chunk->holders, 1) == 1)
		munmap(chunk, RECORDER_CHUNK);
}

int recorder_new(size_t size, uint32_t streams, struct recorder **ret)
{
	struct recorder *recorder = calloc(1, sizeof(*recorder));

	if (!recorder)
		return -ENOMEM;
	recorder->most = size / RECORDER_CHUNK;
	recorder->streams = streams;
	recorder->reaches_ns = clocks_mono_ns();
	STAILQ_INIT(&recorder->chunks);
	pthread_mutex_init(&recorder->lock, NULL);
	*ret = recorder;
	return 0;
}

void recorder_free(struct recorder *recorder)
{
	struct chunk *chunk;

	if (!recorder)
		return;
	while ((chunk = STAILQ_FIRST(&recorder->chunks))) {
		STAILQ_REMOVE_HEAD(&recorder->chunks, entry);
		chunk_release(chunk);
	}
	pthread_mutex_destroy(&recorder->lock);
	free(recorder);
}

/* ---- rows come in ---- */

static void chunk_clear(struct chunk *chunk)
{
	store(chunk->used, 0);
	store(chunk->last_ns, 0);
	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		store(chunk->rows[stream], 0);
}

/* Takes the oldest chunk off the list and returns it empty; NULL when there is none, or when a view holds it. */
static struct chunk *overwrite_oldest(struct recorder *recorder)
{
	struct chunk *chunk = STAILQ_FIRST(&recorder->chunks);

	if (!chunk)
		return NULL;
	STAILQ_REMOVE_HEAD(&recorder->chunks, entry);
	recorder->count--;
	recorder->overwrites = true;
	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		recorder->overwritten[stream] += load(chunk->rows[stream]);
	if (load(chunk->last_ns) > recorder->reaches_ns)
		recorder->reaches_ns = load(chunk->last_ns);
	if (atomic_load(&chunk->holders) > 1) {
		chunk_release(chunk);
		return NULL;
	}
	chunk_clear(chunk);
	return chunk;
}

/* A chunk for the next rows; NULL: there is no memory at all. */
static struct chunk *begin_chunk(struct recorder *recorder)
{
	struct chunk *chunk = NULL;

	pthread_mutex_lock(&recorder->lock);
	if (recorder->count == recorder->most)
		chunk = overwrite_oldest(recorder);
	chunk = chunk ?: chunk_new() ?: overwrite_oldest(recorder);
	if (chunk) {
		STAILQ_INSERT_TAIL(&recorder->chunks, chunk, entry);
		recorder->count++;
	}
	pthread_mutex_unlock(&recorder->lock);
	return chunk;
}

static void add(_Atomic uint64_t *counter, uint64_t value)
{
	store(*counter, load(*counter) + value);
}

uint64_t recorder_end_ns(const struct iotr_record *record)
{
	uint64_t latency = record->latency_ns == IOTR_UNKNOWN ? 0 : record->latency_ns;

	if (record->stream == IOTR_BLOCK) {
		uint64_t queued = ((const struct iotr_block_record *)record)->queue_latency_ns;

		latency += queued == IOTR_UNKNOWN ? 0 : queued;
	}
	return record->start_ns + latency;
}

/* Appends the row. Its entry is complete before the store to `used` makes it visible to other threads. */
static void keep(struct chunk *chunk, const struct row *row, size_t size)
{
	uint32_t used = load(chunk->used);
	uint64_t end_ns = recorder_end_ns(row->record);

	queue_entry_fill((struct queue_entry *)(chunk->data + used), row, size);
	add(&chunk->rows[row->record->stream], 1);
	if (end_ns > load(chunk->last_ns))
		store(chunk->last_ns, end_ns);
	atomic_store_explicit(&chunk->used, used + (uint32_t)size, memory_order_release);
}

static bool has_room(const struct chunk *chunk, size_t size)
{
	return chunk && sizeof(*chunk) + load(chunk->used) + size <= RECORDER_CHUNK;
}

void recorder_row(struct recorder *recorder, const struct row *row)
{
	enum iotr_stream stream = row->record->stream;
	size_t size = queue_entry_size(row);

	if (!(recorder->streams & 1U << stream))
		return;
	add(&recorder->received[stream], 1);
	if (!has_room(recorder->current, size) && size <= QUEUE_ENTRY_MAX)
		recorder->current = begin_chunk(recorder);
	if (!has_room(recorder->current, size)) {
		add(&recorder->lost[stream], 1);
		return;
	}
	keep(recorder->current, row, size);
	add(&recorder->bytes[stream], size);
	add(&recorder->lost_names[stream], row->name_lost);
}

/* ---- what is there ---- */

void recorder_counts(struct recorder *recorder, enum iotr_stream stream,
		     struct recorder_counts *counts)
{
	pthread_mutex_lock(&recorder->lock);
	counts->overwritten = recorder->overwritten[stream];
	pthread_mutex_unlock(&recorder->lock);
	counts->lost = load(recorder->lost[stream]);
	counts->lost_names = load(recorder->lost_names[stream]);
	counts->bytes = load(recorder->bytes[stream]);
	counts->received = load(recorder->received[stream]);
	counts->kept = counts->received - counts->lost - counts->overwritten;
}

void recorder_memory(struct recorder *recorder, struct recorder_memory *memory)
{
	const struct chunk *chunk;

	*memory = (struct recorder_memory){ .size = (uint64_t)recorder->most * RECORDER_CHUNK };
	pthread_mutex_lock(&recorder->lock);
	STAILQ_FOREACH (chunk, &recorder->chunks, entry)
		memory->used += load(chunk->used);
	memory->reaches_ns = recorder->reaches_ns;
	memory->overwritten = recorder->overwrites;
	pthread_mutex_unlock(&recorder->lock);
}

/* ---- views ---- */

/* Call with the lock held. */
static void hold_chunks(struct recorder *recorder, struct recorder_view *view)
{
	struct chunk *chunk;

	STAILQ_FOREACH (chunk, &recorder->chunks, entry) {
		uint32_t used = atomic_load_explicit(&chunk->used, memory_order_acquire);

		if (load(chunk->last_ns) < view->since_ns)
			continue;
		atomic_fetch_add(&chunk->holders, 1);
		view->parts[view->count].chunk = chunk;
		view->parts[view->count++].used = used;
	}
}

int recorder_view_new(struct recorder *recorder, uint64_t since_ns, struct recorder_view **ret)
{
	struct recorder_view *view =
		calloc(1, sizeof(*view) + recorder->most * sizeof(view->parts[0]));

	if (!view)
		return -ENOMEM;
	view->since_ns = since_ns;
	pthread_mutex_lock(&recorder->lock);
	hold_chunks(recorder, view);
	pthread_mutex_unlock(&recorder->lock);
	*ret = view;
	return 0;
}

static const struct queue_entry *next_entry(struct recorder_view *view)
{
	const struct queue_entry *entry;

	while (view->next < view->count && view->at == view->parts[view->next].used) {
		chunk_release(view->parts[view->next++].chunk);
		view->at = 0;
	}
	if (view->next == view->count)
		return NULL;
	entry = (const struct queue_entry *)(view->parts[view->next].chunk->data + view->at);
	view->at += entry->size;
	return entry;
}

bool recorder_view_next(struct recorder_view *view, struct row *row)
{
	const struct queue_entry *entry;

	while ((entry = next_entry(view))) {
		queue_entry_read(entry, row);
		if (recorder_end_ns(row->record) >= view->since_ns)
			return true;
	}
	return false;
}

void recorder_view_free(struct recorder_view *view)
{
	if (!view)
		return;
	while (view->next < view->count)
		chunk_release(view->parts[view->next++].chunk);
	free(view);
}
