// SPDX-License-Identifier: GPL-2.0-or-later
#include "fake_ring.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "fake_probes.h"
#include "pipeline/ring.h"
#include "record.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects the rows */
static struct iotr_vfs_record *rows;
static size_t row_count;

void fake_ring_fill(unsigned int count)
{
	struct iotr_vfs_record row = {
		.head = { .size = sizeof(row), .stream = IOTR_VFS, .operation = IOTR_VFS_READ, .pid = 4711, .tid = 4711,
			  .command = "fake" },
		.file = { .inode = IOTR_UNKNOWN },
		.result = 4096, .size = 4096, .has_size = 1, .counts_bytes = 1,
		.offset = IOTR_UNKNOWN, .address = IOTR_UNKNOWN,
	};

	for (size_t slot = 0; slot < IOTR_SESSIONS_MAX; slot++)
		row.head.sessions |= (__u64)fake_probes.open[slot] << slot;
	row.head.start_ns = clock_ns(CLOCK_MONOTONIC);
	pthread_mutex_lock(&lock);
	rows = reallocarray(rows, row_count + count, sizeof(*rows));
	for (; count; count--)
		rows[row_count++] = row;
	pthread_mutex_unlock(&lock);
}

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
	struct iotr_vfs_record *taken;
	size_t taken_count;

	if (ring->size != FAKE_RING_ROWS)
		return true;
	pthread_mutex_lock(&lock);
	taken = rows;
	taken_count = row_count;
	rows = NULL;
	row_count = 0;
	pthread_mutex_unlock(&lock);
	for (size_t i = 0; i < taken_count; i++)
		handler(userdata, &taken[i], sizeof(taken[i]));
	*count += taken_count;
	free(taken);
	return true;
}

void ring_publish(struct ring *ring)
{
	(void)ring;
}
