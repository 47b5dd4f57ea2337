// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of the consumer thread into the queue. */
#include "writer_private.h"

#define WAKE_BYTES (512 * 1024) /* queued in one drain: too much to wait for its end */

static void add(_Atomic uint64_t *counter, uint64_t rows)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + rows,
			      memory_order_relaxed);
}

void writer_queue_row(struct writer *writer, const struct row *row)
{
	enum iotr_stream stream = row->record->stream;

	if (!(writer->mask & 1U << stream))
		return;
	if (atomic_load_explicit(&writer->limit, memory_order_relaxed)) {
		add(&writer->streams[stream].refused, 1);
		return;
	}
	add(&writer->streams[stream].received, 1);
	if (!queue_push(&writer->queue, row))
		add(&writer->streams[stream].lost_queue, 1);
	else if (row->name_lost)
		add(&writer->streams[stream].lost_names, 1);
	if (queue_unannounced(&writer->queue) >= WAKE_BYTES)
		queue_wake(&writer->queue);
}

void writer_queue_run(struct writer *writer, const struct queue_run *run)
{
	enum iotr_stream stream = ((const struct iotr_record *)run->first->data)->stream;
	uint32_t pushed, names_lost;

	if (!(writer->mask & 1U << stream))
		return;
	if (atomic_load_explicit(&writer->limit, memory_order_relaxed)) {
		add(&writer->streams[stream].refused, run->rows);
		return;
	}
	add(&writer->streams[stream].received, run->rows);
	pushed = queue_push_run(&writer->queue, run, &names_lost);
	add(&writer->streams[stream].lost_queue, run->rows - pushed);
	add(&writer->streams[stream].lost_names, names_lost);
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
