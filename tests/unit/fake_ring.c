// SPDX-License-Identifier: GPL-2.0-or-later
#include "fake_ring.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "fake_probes.h"
#include "pipeline/ring.h"
#include "record.h"
#include "schema.h"

struct fake_ring fake_ring;

union any_row {
	struct iotr_record head;
#define ROW_MEMBER(id, name, ...) struct iotr_##name##_record name;
	IOTR_STREAMS(ROW_MEMBER)
};

#define ROW_SIZE(id, name, ...) [IOTR_##id] = sizeof(struct iotr_##name##_record),
static const uint16_t row_sizes[IOTR_STREAM_COUNT] = { IOTR_STREAMS(ROW_SIZE) };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects all that follows */
static union any_row *rows;
static size_t row_count, row_capacity;
static struct probes_loss losses[IOTR_STREAM_COUNT][IOTR_SESSIONS_MAX];
static unsigned int until_loss;
static uint64_t due_ns; /* when the next rows come by themselves */

void fake_ring_reset(void)
{
	pthread_mutex_lock(&lock);
	fake_ring = (struct fake_ring){ 0 };
	free(rows);
	rows = NULL;
	row_count = row_capacity = 0;
	memset(losses, 0, sizeof(losses));
	until_loss = 0;
	due_ns = 0;
	pthread_mutex_unlock(&lock);
}

void fake_ring_loss(enum iotr_stream stream, unsigned int session, struct probes_loss *ret)
{
	pthread_mutex_lock(&lock);
	*ret = losses[stream][session];
	pthread_mutex_unlock(&lock);
}

/* ---- rows; the lock is held ---- */

static uint64_t sessions_of(enum iotr_stream stream)
{
	uint64_t sessions = 0;

	for (size_t slot = 0; slot < IOTR_SESSIONS_MAX; slot++)
		sessions |= (uint64_t)(fake_probes.open[slot] && fake_probes.streams[slot] >> stream & 1) << slot;
	return sessions;
}

/* Counts a row that was emitted; returns whether the ring has room for it. */
static bool count(enum iotr_stream stream, uint64_t sessions)
{
	bool room = !fake_ring.loses || ++until_loss % fake_ring.loses;

	for (; sessions; sessions &= sessions - 1) {
		struct probes_loss *loss = &losses[stream][__builtin_ctzll(sessions)];

		loss->emitted++;
		loss->ring += !room;
	}
	return room;
}

/* A row of an operation that began and ended now. */
static union any_row row_of(enum iotr_stream stream, unsigned int operation, uint64_t sessions)
{
	union any_row row = {
		.head = { .size = row_sizes[stream], .stream = stream, .operation = operation, .sessions = sessions,
			  .start_ns = clock_ns(CLOCK_MONOTONIC), .pid = 4711, .tid = 4711, .command = "fake" },
	};

	if (stream != IOTR_VFS)
		return row;
	row.vfs.file.inode = IOTR_UNKNOWN;
	row.vfs.result = row.vfs.size = 4096;
	row.vfs.has_size = row.vfs.counts_bytes = 1;
	row.vfs.offset = row.vfs.address = IOTR_UNKNOWN;
	return row;
}

static void emit(enum iotr_stream stream, unsigned int operation)
{
	uint64_t sessions = sessions_of(stream);

	if (!sessions || !count(stream, sessions))
		return;
	if (row_count == row_capacity) {
		row_capacity = 2 * row_capacity + 64;
		rows = reallocarray(rows, row_capacity, sizeof(*rows));
	}
	rows[row_count++] = row_of(stream, operation, sessions);
}

void fake_ring_fill(unsigned int count)
{
	pthread_mutex_lock(&lock);
	for (; count; count--)
		emit(IOTR_VFS, IOTR_VFS_READ);
	pthread_mutex_unlock(&lock);
}

/* Makes the rows that come by themselves. */
static void flow(void)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	if (!fake_ring.interval_ns || now_ns < due_ns)
		return;
	due_ns = now_ns + fake_ring.interval_ns;
	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		for (size_t i = 0; i < iotr_schemas[stream].operation_count; i++)
			if (!iotr_operations_have(&fake_ring.silent[stream], i))
				emit(stream, i);
}

/* ---- what the consumer calls ---- */

int ring_open(struct ring *ring, int map)
{
	*ring = (struct ring){ .size = (size_t)map };
	return 0;
}

void ring_close(struct ring *ring)
{
	(void)ring;
}

bool ring_read(struct ring *ring, ring_handler handler, void *userdata, size_t *count)
{
	union any_row *taken;
	size_t taken_count;

	if (ring->size != FAKE_RING_ROWS)
		return true;
	pthread_mutex_lock(&lock);
	flow();
	taken = rows;
	taken_count = row_count;
	rows = NULL;
	row_count = row_capacity = 0;
	pthread_mutex_unlock(&lock);
	for (size_t i = 0; i < taken_count; i++)
		handler(userdata, &taken[i], taken[i].head.size);
	*count += taken_count;
	free(taken);
	return true;
}

void ring_publish(struct ring *ring)
{
	(void)ring;
}
