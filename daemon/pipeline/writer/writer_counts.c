// SPDX-License-Identifier: GPL-2.0-or-later
/* What any thread may know of a writer: counts, losses, the limit that was reached, its cost. */
#include "writer_private.h"

#include <sys/eventfd.h>
#include <time.h>

void writer_report(struct writer *writer, enum iotr_stream stream, const struct writer_probes *probes)
{
	struct writer_stream *of = &writer->streams[stream];

	atomic_store(&of->emitted, probes->emitted);
	atomic_store(&of->lost_ring, probes->ring);
	atomic_store(&of->lost_unmatched, probes->unmatched);
	atomic_store(&of->missed, probes->missed);
	atomic_store(&of->unfollowed, probes->unfollowed);
	atomic_store(&of->forgotten, probes->forgotten);
}

uint64_t writer_refused(const struct writer *writer, enum iotr_stream stream)
{
	const struct writer_stream *of = &writer->streams[stream];

	return atomic_load(&of->refused) + atomic_load(&of->dropped);
}

void writer_read_losses(struct losses_counts *counts, void *userdata)
{
	struct writer *writer = userdata;

	FOR_EACH_STREAM (writer, stream) {
		uint64_t *rows = counts->rows[stream->sink.stream];

		rows[LOSS_RING] = atomic_load(&stream->lost_ring);
		rows[LOSS_UNMATCHED] = atomic_load(&stream->lost_unmatched);
		writer_disk_counts(writer, stream, &rows[LOSS_QUEUE], &rows[LOSS_DISK]);
	}
}

void writer_look(struct writer *writer)
{
	bool fresh = losses_look(writer->losses, writer_read_losses, writer, NULL);

	losses_log(writer->losses, clocks_mono_ns(), false);
	if (!fresh || atomic_exchange(&writer->losses_due, true))
		return;
	eventfd_write(writer->eventfd, 1);
}

bool writer_turns(const struct writer *writer, uint64_t *turns)
{
	*turns = atomic_load_explicit(&writer->turns, memory_order_relaxed);
	return !atomic_load(&writer->disk.progress_ns) && queue_waits(&writer->queue);
}

struct json_object *writer_losses(const struct writer *writer, size_t most)
{
	return losses_describe(writer->losses, most);
}

void writer_counts(const struct writer *writer, enum iotr_stream stream,
		   struct writer_counts *counts)
{
	const struct writer_stream *of = &writer->streams[stream];

	*counts = (struct writer_counts){
		.written = atomic_load(&of->sink.written),
		.bytes = atomic_load(&of->sink.bytes),
		.segments = atomic_load(&of->sink.segment_count),
		.error = atomic_load(&of->sink.error),
		.refused = writer_refused(writer, stream),
		.removed = atomic_load(&of->sink.removed),
		.lost_names = atomic_load(&of->lost_names),
	};
	counts->received = atomic_load(&of->received) - atomic_load(&of->dropped);
	writer_disk_counts(writer, of, &counts->lost_queue, &counts->lost_disk);
}

void writer_describe_removed(const struct writer *writer, enum iotr_stream stream, struct json_object *description)
{
	sink_describe_removed(&writer->streams[stream].sink, description);
}

const char *writer_limit(const struct writer *writer)
{
	return atomic_load(&writer->limit);
}

int writer_manifest_error(const struct writer *writer)
{
	return atomic_load(&writer->manifest_error);
}

bool writer_finished(const struct writer *writer)
{
	return atomic_load(&writer->finished);
}

uint64_t writer_cpu_ns(const struct writer *writer)
{
	struct timespec used;
	clockid_t clock;

	if (writer_finished(writer))
		return atomic_load(&writer->cpu_ns);
	if (pthread_getcpuclockid(writer->thread, &clock) || clock_gettime(clock, &used) < 0)
		return 0;
	return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}
