// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of the consumer thread into the queue. */
#include "writer_private.h"

#define WAKE_BYTES (512 * 1024) /* queued in one drain: too much to wait for its end */

static void count(_Atomic uint64_t *counter)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1,
			      memory_order_relaxed);
}

void writer_queue_row(struct writer *writer, const struct row *row)
{
	enum iotr_stream stream = row->record->stream;

	if (!(writer->mask & 1U << stream))
		return;
	if (atomic_load_explicit(&writer->limit, memory_order_relaxed)) {
		count(&writer->streams[stream].refused);
		return;
	}
	count(&writer->streams[stream].received);
	if (!queue_push(&writer->queue, row))
		count(&writer->streams[stream].lost_queue);
	else if (row->name_lost)
		count(&writer->streams[stream].lost_names);
	if (queue_unannounced(&writer->queue) >= WAKE_BYTES)
		queue_wake(&writer->queue);
}

bool writer_takes_lines(const struct writer *writer)
{
	return writer->takes_lines;
}

bool writer_queue_has_room(struct writer *writer)
{
	return queue_has_room(&writer->queue);
}

void writer_queue_wake(struct writer *writer)
{
	queue_wake(&writer->queue);
}
