// SPDX-License-Identifier: GPL-2.0-or-later
#include "queue.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#define KEEP	  (1024 * 1024) /* bytes of the ring whose memory is not given back */
#define CALM_TRIM 256		/* fresh starts in a row within KEEP, after which the other memory is given back */

#define load(position)	       atomic_load_explicit(&(position), memory_order_relaxed)
#define load_acquire(position) atomic_load_explicit(&(position), memory_order_acquire)
#define store(position, value) atomic_store_explicit(&(position), value, memory_order_release)

int queue_init(struct queue *queue, size_t size, int eventfd)
{
	memset(queue, 0, sizeof(*queue));
	queue->eventfd = eventfd;
	queue->size = 4 * QUEUE_ENTRY_MAX;
	while (queue->size < size)
		queue->size *= 2;
	queue->ring = mmap(NULL, queue->size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (queue->ring == MAP_FAILED) {
		queue->ring = NULL;
		return -errno;
	}
	madvise(queue->ring, queue->size, MADV_NOHUGEPAGE);
	return 0;
}

static const struct queue_entry *entry_at(const struct queue *queue, uint64_t position)
{
	return (const struct queue_entry *)(queue->ring + (position & (queue->size - 1)));
}

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

/* The position after the entry, or after the unused end of the ring. */
static uint64_t next_position(const struct queue *queue, uint64_t position)
{
	uint32_t size = entry_at(queue, position)->size;

	return size ? position + size : (position | (queue->size - 1)) + 1;
}

static void release_blocks(struct queue *queue)
{
	uint64_t head = load_acquire(queue->head);

	for (uint64_t at = load(queue->tail); at < head; at = next_position(queue, at)) {
		const struct queue_entry *entry = entry_at(queue, at);

		if (entry->size && !entry->record_size)
			hold_read(queue, ((const struct queue_reference *)entry)->block);
	}
	shared_release(queue->block);
}

void queue_done(struct queue *queue)
{
	if (!queue->ring)
		return;
	release_blocks(queue);
	munmap(queue->ring, queue->size);
	queue->ring = NULL;
}

/* Gives the memory of a burst back when many fresh starts have not needed it. */
static void trim(struct queue *queue)
{
	if (queue->highest <= KEEP || ++queue->calm < CALM_TRIM)
		return;
	madvise(queue->ring + KEEP, queue->size - KEEP, MADV_DONTNEED);
	queue->highest = 0;
	queue->calm = 0;
}

static void note_use(struct queue *queue, uint64_t head)
{
	if (head <= KEEP)
		return;
	queue->highest = head;
	queue->calm = 0;
}

/* Takes the positions over from an idle consumer; goes back to the start of the ring when all is read. */
static void take(struct queue *queue)
{
	int expected = QUEUE_IDLE;
	uint64_t head = load(queue->head);

	if (!atomic_compare_exchange_strong(&queue->state, &expected, QUEUE_TAKEN))
		return;
	if (head != load(queue->tail))
		return;
	note_use(queue, head);
	trim(queue);
	queue->seen_tail = 0;
	queue->woken_head = 0;
	store(queue->tail, 0);
	store(queue->head, 0);
}

/*
 * Whether `size` bytes from `head` on are free; the tail is read again only when the last known one
 * does not suffice.
 */
static bool has_room(struct queue *queue, uint64_t head, size_t size)
{
	if (head + size - queue->seen_tail <= queue->size)
		return true;
	queue->seen_tail = load_acquire(queue->tail);
	return head + size - queue->seen_tail <= queue->size;
}

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
	entry->quote = (uint8_t)(row->path.quote | row->path2.quote << 1);
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

/* Room for an entry at the head, `at` being its position; NULL: the queue is full. */
__attribute__((always_inline)) static inline void *reserve(struct queue *queue, size_t size, uint64_t *at)
{
	size_t to_end, skipped;
	uint64_t head;

	if (load(queue->state) == QUEUE_IDLE)
		take(queue);
	head = load(queue->head);
	to_end = queue->size - (head & (queue->size - 1));
	skipped = to_end < size ? to_end : 0;
	if (size > QUEUE_ENTRY_MAX || !has_room(queue, head, skipped + size))
		return NULL;
	if (skipped) {
		((struct queue_entry *)(queue->ring + queue->size - to_end))->size = 0;
		head += skipped;
	}
	*at = head;
	return queue->ring + (head & (queue->size - 1));
}

static bool push_copy(struct queue *queue, const struct row *row)
{
	size_t size = queue_entry_size(row);
	uint64_t at;
	struct queue_entry *entry = reserve(queue, size, &at);

	if (!entry)
		return false;
	queue_entry_fill(entry, row, size);
	store(queue->head, at + size);
	return true;
}

/* Whether the queue may refer to the block: it does already, or holds few enough others. */
static bool may_hold(const struct queue *queue, const struct shared_block *block)
{
	return block == queue->pushed_block ||
	       queue->blocks_held - load_acquire(queue->blocks_released) < 2 * queue->size / SHARED_BLOCK;
}

static bool push_reference(struct queue *queue, const struct row *row)
{
	uint64_t at;
	struct queue_reference *reference = reserve(queue, sizeof(*reference), &at);

	if (!reference)
		return false;
	if (row->block != queue->pushed_block) {
		shared_hold(row->block);
		queue->pushed_block = row->block;
		queue->blocks_held++;
	}
	*reference = (struct queue_reference){ .size = sizeof(*reference), .line_length = row->line_length,
					       .entry = row->entry, .block = row->block };
	queue->referred += row->entry->size;
	store(queue->head, at + sizeof(*reference));
	return true;
}

bool queue_push(struct queue *queue, const struct row *row)
{
	if (row->block && may_hold(queue, row->block))
		return push_reference(queue, row);
	return push_copy(queue, row);
}

bool queue_has_room(struct queue *queue)
{
	return has_room(queue, load(queue->head), (size_t)2 * QUEUE_ENTRY_MAX);
}

size_t queue_unannounced(const struct queue *queue)
{
	return load(queue->head) - queue->woken_head + queue->referred;
}

void queue_wake(struct queue *queue)
{
	uint64_t head = load(queue->head);

	if (head == queue->woken_head && load(queue->state) != QUEUE_TAKEN)
		return;
	queue->woken_head = head;
	queue->referred = 0;
	if (atomic_exchange(&queue->state, QUEUE_RUNNING) != QUEUE_RUNNING)
		eventfd_write(queue->eventfd, 1);
}

void queue_entry_read(const struct queue_entry *entry, struct row *row)
{
	const char *texts = entry->data + entry->record_size;

	row->record = (const struct iotr_record *)entry->data;
	row->path = (struct row_text){ texts, entry->path_length, entry->quote & 1 };
	row->path2 = (struct row_text){ texts + entry->path_length, entry->path2_length,
					entry->quote >> 1 & 1 };
	row->fs_type = entry->fs_type;
	row->line = NULL;
	row->block = NULL;
	row->name_lost = entry->name_lost;
}

__attribute__((noinline)) static void read_reference(struct queue *queue, const struct queue_reference *reference,
						     struct row *row)
{
	hold_read(queue, reference->block);
	queue_entry_read(reference->entry, row);
	row->line = (const char *)reference->entry + reference->entry->size;
	row->line_length = reference->line_length;
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
	uint64_t tail;

	if (load_acquire(queue->state) != QUEUE_RUNNING)
		return false;
	tail = load(queue->tail);
	if (is_empty(queue, tail))
		return false;
	if (!entry_at(queue, tail)->size) {
		uint64_t start = (tail | (queue->size - 1)) + 1;

		queue->available -= start - tail;
		store(queue->tail, start);
		tail = start;
	}
	entry = entry_at(queue, tail);
	if (!entry->record_size)
		read_reference(queue, (const struct queue_reference *)entry, row);
	else
		queue_entry_read(entry, row);
	return true;
}

void queue_pop(struct queue *queue)
{
	uint64_t tail = load(queue->tail);
	size_t size = entry_at(queue, tail)->size;

	queue->available -= size;
	store(queue->tail, tail + size);
}

size_t queue_waiting(const struct queue *queue)
{
	if (load(queue->state) != QUEUE_RUNNING)
		return 0;
	return load(queue->head) - load(queue->tail);
}

bool queue_idle(struct queue *queue)
{
	int running = QUEUE_RUNNING, idle = QUEUE_IDLE;

	if (queue->available)
		return false;
	if (!atomic_compare_exchange_strong(&queue->state, &running, QUEUE_IDLE))
		return true;
	if (atomic_load(&queue->head) == load(queue->tail))
		return true;
	return !atomic_compare_exchange_strong(&queue->state, &idle, QUEUE_RUNNING);
}
