// SPDX-License-Identifier: GPL-2.0-or-later
#include "queue.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#define DATA	      (QUEUE_CHUNK - sizeof(struct queue_chunk))
#define KEEP	      16 /* spare chunks that an empty queue keeps: fresh memory costs more than what is in it */
#define DRAINED_SHARE 4

_Static_assert(IOTR_QUEUE_SIZE_MAX <= (uint64_t)QUEUE_SURE + QUEUES_MORE, "a queue can reach the size that it was given");
_Static_assert(QUEUE_ENTRY_MAX <= DATA, "an entry fits a chunk");

/* Chunks that queues have beyond those that each is sure of. */
static _Atomic int more;

#define load(position)	       atomic_load_explicit(&(position), memory_order_relaxed)
#define load_acquire(position) atomic_load_explicit(&(position), memory_order_acquire)
#define store(position, value) atomic_store_explicit(&(position), value, memory_order_release)

/* ---- chunks ---- */

static struct queue_chunk *chunk_new(void)
{
	void *memory = mmap(NULL, QUEUE_CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static void chunk_free(struct queue_chunk *chunk)
{
	munmap(chunk, QUEUE_CHUNK);
}

/* Counts a chunk more, if the queue may have it. */
static bool may_grow(struct queue *queue)
{
	if (queue->chunks >= queue->most)
		return false;
	if (queue->chunks >= queue->sure && atomic_fetch_add(&more, 1) >= QUEUES_MORE / QUEUE_CHUNK) {
		atomic_fetch_sub(&more, 1);
		return false;
	}
	queue->chunks++;
	return true;
}

static void count_less(struct queue *queue)
{
	if (--queue->chunks >= queue->sure)
		atomic_fetch_sub(&more, 1);
}

static struct queue_chunk *take_spare(struct queue *queue)
{
	struct queue_chunk *chunk = queue->spare;

	if (chunk) {
		queue->spare = chunk->next;
		queue->spares--;
	}
	return chunk;
}

/* A chunk to fill, the one last read where there is one. NULL: the queue may have no more. */
static struct queue_chunk *take_chunk(struct queue *queue)
{
	struct queue_chunk *chunk;
	bool grow = false;

	pthread_mutex_lock(&queue->lock);
	chunk = take_spare(queue);
	if (!chunk)
		grow = may_grow(queue);
	pthread_mutex_unlock(&queue->lock);
	if (!grow)
		return chunk;
	chunk = chunk_new();
	if (!chunk) {
		pthread_mutex_lock(&queue->lock);
		count_less(queue);
		pthread_mutex_unlock(&queue->lock);
	}
	return chunk;
}

static void give_back(struct queue *queue, struct queue_chunk *chunk)
{
	pthread_mutex_lock(&queue->lock);
	chunk->next = queue->spare;
	queue->spare = chunk;
	queue->spares++;
	pthread_mutex_unlock(&queue->lock);
}

/* Gives the memory of a burst back, when the queue is empty. */
static void trim(struct queue *queue)
{
	struct queue_chunk *chunk = NULL;

	do {
		if (chunk)
			chunk_free(chunk);
		pthread_mutex_lock(&queue->lock);
		chunk = queue->spares > KEEP ? take_spare(queue) : NULL;
		if (chunk)
			count_less(queue);
		pthread_mutex_unlock(&queue->lock);
	} while (chunk);
}

int queue_init(struct queue *queue, size_t size, int eventfd)
{
	memset(queue, 0, sizeof(*queue));
	pthread_mutex_init(&queue->lock, NULL);
	queue->eventfd = eventfd;
	queue->most = size > 2 * (size_t)QUEUE_CHUNK ? (unsigned int)((size + QUEUE_CHUNK - 1) / QUEUE_CHUNK) : 2;
	queue->sure = queue->most < QUEUE_SURE / QUEUE_CHUNK ? queue->most : QUEUE_SURE / QUEUE_CHUNK;
	queue->filling = take_chunk(queue);
	queue->reading = queue->filling;
	return queue->filling ? 0 : -ENOMEM;
}

/* ---- blocks that several queues refer to ---- */

/* A block is held from the first of its references in a row until one of another block is read. */
static void hold_read(struct queue *queue, struct shared_block *block)
{
	if (block == queue->block)
		return;
	if (queue->block) {
		shared_release(queue->block);
		store(queue->blocks_released, load(queue->blocks_released) + 1);
	}
	queue->block = block;
}

/* The consumer's next entry, of which it knows that there is one. */
static const struct queue_entry *next_entry(struct queue *queue)
{
	struct queue_chunk *read = queue->reading;
	const struct queue_entry *entry = (const struct queue_entry *)(read->data + queue->read);

	if (queue->read < DATA && entry->size)
		return entry;
	queue->reading = read->next;
	queue->read = 0;
	give_back(queue, read);
	return (const struct queue_entry *)queue->reading->data;
}

static void advance(struct queue *queue, size_t size)
{
	queue->read += size;
	queue->available -= size;
	store(queue->tail, load(queue->tail) + size);
}

static void release_blocks(struct queue *queue)
{
	queue->available = load_acquire(queue->head) - load(queue->tail);
	while (queue->available) {
		const struct queue_entry *entry = next_entry(queue);

		if (!entry->record_size)
			hold_read(queue, ((const struct queue_reference *)entry)->run.block);
		advance(queue, entry->size);
	}
	shared_release(queue->block);
}

void queue_done(struct queue *queue)
{
	struct queue_chunk *chunk;

	if (!queue->reading)
		return;
	release_blocks(queue);
	give_back(queue, queue->reading);
	while ((chunk = take_spare(queue))) {
		count_less(queue);
		chunk_free(chunk);
	}
	queue->reading = NULL;
	pthread_mutex_destroy(&queue->lock);
}

/* ---- the producer ---- */

size_t queue_entry_size(const struct row *row)
{
	size_t size = sizeof(struct queue_entry) + row->record->size + row->path.length +
		      row->path2.length;

	return (size + 7) & ~(size_t)7;
}

void queue_entry_fill(struct queue_entry *entry, const struct row *row, size_t size)
{
	char *at = entry->data;

	entry->size = (uint32_t)size;
	entry->record_size = row->record->size;
	entry->name_lost = row->name_lost;
	entry->path_length = row->path.length;
	entry->path2_length = row->path2.length;
	entry->fs_type = row->fs_type;
	memcpy(at, row->record, row->record->size);
	at += row->record->size;
	if (row->path.length)
		memcpy(at, row->path.text, row->path.length);
	at += row->path.length;
	if (row->path2.length)
		memcpy(at, row->path2.text, row->path2.length);
}

/* Goes on in another chunk. False: the queue is full. */
__attribute__((noinline)) static bool begin_chunk(struct queue *queue)
{
	struct queue_chunk *full = queue->filling, *chunk = take_chunk(queue);

	if (!chunk)
		return false;
	full->next = chunk;
	if (queue->filled < DATA)
		((struct queue_entry *)(full->data + queue->filled))->size = 0;
	queue->filling = chunk;
	queue->filled = 0;
	return true;
}

/* Room for the next entry; NULL: the queue is full. */
__attribute__((always_inline)) static inline void *reserve(struct queue *queue, size_t size)
{
	if (size > QUEUE_ENTRY_MAX || (size > DATA - queue->filled && !begin_chunk(queue)))
		return NULL;
	return queue->filling->data + queue->filled;
}

static void publish(struct queue *queue, size_t size)
{
	queue->filled += size;
	store(queue->head, load(queue->head) + size);
}

bool queue_push(struct queue *queue, const struct row *row)
{
	size_t size = queue_entry_size(row);
	struct queue_entry *entry = reserve(queue, size);

	if (!entry)
		return false;
	queue_entry_fill(entry, row, size);
	publish(queue, size);
	return true;
}

/* Whether the queue may refer to the block: it does already, or holds few enough others. */
static bool may_hold(const struct queue *queue, const struct shared_block *block)
{
	return block == queue->pushed_block ||
	       queue->blocks_held - load_acquire(queue->blocks_released) < 2 * queue->sure * (QUEUE_CHUNK / SHARED_BLOCK);
}

static bool push_reference(struct queue *queue, const struct queue_run *run)
{
	struct queue_reference *reference = reserve(queue, sizeof(*reference));

	if (!reference)
		return false;
	if (run->block != queue->pushed_block) {
		shared_hold(run->block);
		queue->pushed_block = run->block;
		queue->blocks_held++;
	}
	*reference = (struct queue_reference){ .size = sizeof(*reference), .run = *run };
	queue->referred += run->bytes;
	publish(queue, sizeof(*reference));
	return true;
}

static uint32_t push_copies(struct queue *queue, const struct queue_run *run, uint32_t *names_lost)
{
	const struct queue_entry *entry = run->first;
	uint32_t pushed = 0;
	struct row row;

	*names_lost = 0;
	for (; pushed < run->rows; pushed++) {
		queue_entry_read(entry, &row);
		if (!queue_push(queue, &row))
			break;
		*names_lost += row.name_lost;
		entry = (const struct queue_entry *)((const char *)entry + entry->size);
	}
	return pushed;
}

uint32_t queue_push_run(struct queue *queue, const struct queue_run *run, uint32_t *names_lost)
{
	if (!may_hold(queue, run->block))
		return push_copies(queue, run, names_lost);
	*names_lost = 0;
	if (!push_reference(queue, run))
		return 0;
	*names_lost = run->names_lost;
	return run->rows;
}

bool queue_has_room(struct queue *queue)
{
	bool room = DATA - queue->filled >= QUEUE_ENTRY_MAX;

	pthread_mutex_lock(&queue->lock);
	room |= queue->spare || queue->chunks < queue->sure;
	pthread_mutex_unlock(&queue->lock);
	return room;
}

size_t queue_unannounced(const struct queue *queue)
{
	return load(queue->head) - queue->woken_head + queue->referred;
}

void queue_wake(struct queue *queue)
{
	uint64_t head = load(queue->head);

	if (head == queue->woken_head)
		return;
	queue->woken_head = head;
	queue->referred = 0;
	atomic_thread_fence(memory_order_seq_cst); /* the head before the question whether anybody waits */
	if (atomic_load(&queue->idle) && atomic_exchange(&queue->idle, false))
		eventfd_write(queue->eventfd, 1);
}

/* ---- the consumer ---- */

void queue_entry_read(const struct queue_entry *entry, struct row *row)
{
	const char *texts = entry->data + entry->record_size;

	row->record = (const struct iotr_record *)entry->data;
	row->path = (struct row_text){ texts, entry->path_length };
	row->path2 = (struct row_text){ texts + entry->path_length, entry->path2_length };
	row->fs_type = entry->fs_type;
	row->line = NULL;
	row->line_length = 0;
	row->name_lost = entry->name_lost;
}

/* The entry of a run that is read next. */
static const struct queue_entry *within(const struct queue *queue, const struct queue_run *run)
{
	return (const struct queue_entry *)((const char *)run->first + queue->within);
}

static uint32_t line_length(const struct queue *queue, const struct queue_run *run)
{
	const char *line = run->lines + queue->line_within;

	return (uint32_t)((const char *)memchr(line, '\n', run->line_bytes - queue->line_within) + 1 - line);
}

__attribute__((noinline)) static void read_reference(struct queue *queue, const struct queue_run *run, struct row *row)
{
	hold_read(queue, run->block);
	queue_entry_read(within(queue, run), row);
	row->line = run->lines + queue->line_within;
	row->line_length = line_length(queue, run);
}

/* Whether there is no entry at the tail; the head is read again only when all known entries are read. */
static bool is_empty(struct queue *queue, uint64_t tail)
{
	if (!queue->available)
		queue->available = load_acquire(queue->head) - tail;
	return !queue->available;
}

bool queue_front(struct queue *queue, struct row *row)
{
	const struct queue_entry *entry;

	if (is_empty(queue, load(queue->tail)))
		return false;
	entry = next_entry(queue);
	if (!entry->record_size)
		read_reference(queue, &((const struct queue_reference *)entry)->run, row);
	else
		queue_entry_read(entry, row);
	return true;
}

/* Goes on within the run. False: that was its last row. */
static bool advance_within(struct queue *queue, const struct queue_run *run)
{
	queue->line_within += line_length(queue, run);
	queue->within += within(queue, run)->size;
	if (queue->within < run->bytes)
		return true;
	queue->within = queue->line_within = 0;
	return false;
}

void queue_pop(struct queue *queue)
{
	const struct queue_entry *entry = (const struct queue_entry *)(queue->reading->data + queue->read);

	if (entry->record_size || !advance_within(queue, &((const struct queue_reference *)entry)->run))
		advance(queue, entry->size);
}

const struct queue_run *queue_front_run(struct queue *queue)
{
	const struct queue_entry *entry;

	if (queue->within || is_empty(queue, load(queue->tail)))
		return NULL;
	entry = next_entry(queue);
	if (entry->record_size)
		return NULL;
	hold_read(queue, ((const struct queue_reference *)entry)->run.block);
	return &((const struct queue_reference *)entry)->run;
}

void queue_pop_run(struct queue *queue)
{
	advance(queue, sizeof(struct queue_reference));
}

bool queue_waits(const struct queue *queue)
{
	return load(queue->head) != load(queue->tail);
}

bool queue_is_drained(const struct queue *queue)
{
	uint64_t waiting = load(queue->head) - load(queue->tail);

	return waiting < queue->sure * (uint64_t)QUEUE_CHUNK / DRAINED_SHARE;
}

bool queue_idle(struct queue *queue)
{
	uint64_t tail = load(queue->tail);

	if (load(queue->head) != tail)
		return false;
	trim(queue);
	atomic_store(&queue->idle, true);
	if (atomic_load(&queue->head) == tail)
		return true;
	atomic_store(&queue->idle, false);
	return false;
}
