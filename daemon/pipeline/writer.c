// SPDX-License-Identifier: GPL-2.0-or-later
#include "writer_private.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

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
	count(&writer->streams[stream].received);
	if (!queue_push(&writer->queue, row))
		count(&writer->streams[stream].lost_queue);
	if (queue_unannounced(&writer->queue) >= WAKE_BYTES)
		queue_wake(&writer->queue);
}

void writer_queue_wake(struct writer *writer)
{
	queue_wake(&writer->queue);
}

static int start_manifest(struct writer *writer, const struct writer_config *config)
{
	struct manifest_config manifest = {
		.folder_fd = writer->output_fd,
		.streams = writer->mask,
		.session = config->session,
		.level = config->level,
		.definition = config->definition,
		.hooks = config->hooks,
		.owner_uid = config->owner_uid,
		.start = writer->clocks,
	};
	int error = manifest_init(&writer->manifest, &manifest);

	return error < 0 ? error : writer_write_manifest(writer);
}

static int open_sinks(struct writer *writer)
{
	int error = 0;

	FOR_EACH_STREAM (writer, stream) {
		format_csv_init(&stream->csv);
		error = sink_init(&stream->sink, writer->output_fd,
				  (enum iotr_stream)(stream - writer->streams));
		if (error < 0)
			return error;
	}
	return 0;
}

static int open_writer(struct writer *writer, const struct writer_config *config)
{
	int error;

	snprintf(writer->output, sizeof(writer->output), "%s", config->output);
	writer->output_fd = fcntl(config->output_fd, F_DUPFD_CLOEXEC, 0);
	writer->eventfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (writer->output_fd < 0 || writer->eventfd < 0)
		return -errno;
	error = queue_init(&writer->queue, config->queue_size ? config->queue_size : QUEUE_SIZE,
			   writer->eventfd);
	if (error < 0)
		return error;
	writer->clocks = clocks_measure();
	writer->cells.realtime_offset = writer->clocks.offset_ns;
	return open_sinks(writer) ?: start_manifest(writer, config);
}

/* Signals are for the main thread. */
static int start_thread(struct writer *writer)
{
	sigset_t all, before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&writer->thread, NULL, writer_run, writer);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	writer->started = !error;
	return -error;
}

int writer_new(const struct writer_config *config, struct writer **ret)
{
	struct writer *writer = aligned_alloc(_Alignof(struct writer), sizeof(*writer));
	int error;

	if (!writer)
		return -ENOMEM;
	memset(writer, 0, sizeof(*writer));
	writer->output_fd = -1;
	writer->eventfd = -1;
	writer->mask = config->streams;
	cells_init(&writer->cells);
	error = open_writer(writer, config);
	mailbox_init(&writer->mailbox, writer->eventfd);
	if (!error)
		error = start_thread(writer);
	if (error < 0) {
		writer_free(writer);
		return error;
	}
	*ret = writer;
	return 0;
}

void writer_free(struct writer *writer)
{
	if (!writer)
		return;
	if (writer->started)
		writer_stop(writer, "stopped", NULL);
	FOR_EACH_STREAM (writer, stream)
		sink_done(&stream->sink);
	manifest_done(&writer->manifest);
	mailbox_done(&writer->mailbox);
	queue_done(&writer->queue);
	if (writer->eventfd >= 0)
		close(writer->eventfd);
	if (writer->output_fd >= 0)
		close(writer->output_fd);
	free(writer);
}

void writer_paths_done(struct writer_paths *paths)
{
	for (int stream = 0; stream < IOTR_STREAM_COUNT; stream++) {
		free(paths->paths[stream]);
		paths->paths[stream] = NULL;
	}
}

int writer_rotate(struct writer *writer, struct writer_paths *paths)
{
	memset(paths, 0, sizeof(*paths));
	return writer->stopped ? -ESHUTDOWN
			       : mailbox_call(&writer->mailbox, writer_do_rotate, paths);
}

int writer_stop(struct writer *writer, const char *reason, struct writer_paths *paths)
{
	struct writer_stop_how how = { reason, paths };
	int error;

	if (paths)
		memset(paths, 0, sizeof(*paths));
	if (writer->stopped)
		return 0;
	error = mailbox_call(&writer->mailbox, writer_do_stop, &how);
	pthread_join(writer->thread, NULL);
	writer->stopped = true;
	return error;
}

void writer_report(struct writer *writer, enum iotr_stream stream, const struct writer_probes *probes)
{
	struct writer_stream *of = &writer->streams[stream];

	atomic_store(&of->emitted, probes->emitted);
	atomic_store(&of->lost_ring, probes->ring);
	atomic_store(&of->lost_unmatched, probes->unmatched);
	atomic_store(&of->missed, probes->missed);
}

void writer_snapshots(struct writer *writer, struct json_object *snapshots)
{
	if (writer->stopped)
		json_object_put(snapshots);
	else
		mailbox_call(&writer->mailbox, writer_do_snapshots, snapshots);
}

void writer_counts(const struct writer *writer, enum iotr_stream stream,
		   struct writer_counts *counts)
{
	const struct writer_stream *of = &writer->streams[stream];

	*counts = (struct writer_counts){
		.received = atomic_load(&of->received),
		.lost_queue = atomic_load(&of->lost_queue),
		.written = atomic_load(&of->sink.written),
		.bytes = atomic_load(&of->sink.bytes),
		.lost_disk = atomic_load(&of->sink.lost),
		.segments = atomic_load(&of->sink.segment_count),
		.error = atomic_load(&of->sink.error),
	};
}

uint64_t writer_cpu_ns(const struct writer *writer)
{
	struct timespec used;
	clockid_t clock;

	if (writer->stopped)
		return atomic_load(&writer->cpu_ns);
	if (pthread_getcpuclockid(writer->thread, &clock) || clock_gettime(clock, &used) < 0)
		return 0;
	return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

void writer_tap_set(struct writer *writer, writer_tap tap, void *userdata)
{
	struct writer_tap_how argument = { tap, userdata };

	if (!writer->stopped)
		mailbox_call(&writer->mailbox, writer_do_tap, &argument);
}
