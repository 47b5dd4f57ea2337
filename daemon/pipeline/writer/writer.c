// SPDX-License-Identifier: GPL-2.0-or-later
/* A writer from its first files to its end. */
#include "writer_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "thread.h"

static int start_manifest(struct writer *writer, const struct writer_config *config)
{
	struct manifest_config manifest = {
		.folder_fd = writer->output_fd,
		.trace = writer->trace,
		.streams = writer->mask,
		.session = config->session,
		.level = config->level,
		.format = iotr_format_names[config->format],
		.definition = config->definition,
		.hooks = config->hooks,
		.owner_uid = config->owner_uid,
		.anonymize_key = config->anonymize_key,
		.start = writer->started_at,
	};
	int error = manifest_init(&writer->manifest, &manifest);

	return error < 0 ? error : writer_write_manifest(writer);
}

static int open_sinks(struct writer *writer, enum iotr_format format)
{
	int error = 0;

	FOR_EACH_STREAM (writer, stream) {
		enum iotr_stream which = (enum iotr_stream)(stream - writer->streams);

		stream->format = malloc(sizeof(*stream->format));
		if (!stream->format)
			return -ENOMEM;
		writer->format->init(stream->format, which, writer->anonymizer);
		error = sink_init(&stream->sink, writer->output_fd, which, format,
				  &writer->extent, writer->trace);
		if (error < 0)
			return error;
	}
	return 0;
}

/* The limit of a segment's bytes; with retention, several segments are to fit into its limits. */
static uint64_t segment_limit(const struct writer *writer, uint64_t rotate_size)
{
	uint64_t limit = trace_segment_limit(writer->trace);

	return limit < (rotate_size ?: UINT64_MAX) ? limit : rotate_size;
}

static int open_writer(struct writer *writer, const struct writer_config *config)
{
	int error;

	snprintf(writer->output, sizeof(writer->output), "%s", config->output);
	writer->own_folder = config->own_folder;
	writer->format = &formats[config->format];
	writer->nice = config->nice;
	writer->max_size = config->max_size;
	writer->max_events = config->max_events;
	writer->rotate_size = segment_limit(writer, config->rotate_size);
	writer->rotate_interval_ns = config->rotate_interval_ns;
	writer->output_fd = fcntl(config->output_fd, F_DUPFD_CLOEXEC, 0);
	writer->eventfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (writer->output_fd < 0 || writer->eventfd < 0)
		return -errno;
	error = queue_init(&writer->queue, config->queue_size ? config->queue_size : QUEUE_SIZE,
			   writer->eventfd);
	if (error < 0)
		return error;
	error = losses_new(config->session, &writer->losses);
	if (!error && config->anonymize_key)
		error = cells_anonymizer_new(config->anonymize_key, &writer->anonymizer);
	if (error < 0)
		return error;
	writer->takes_lines = config->format == IOTR_FORMAT_CSV && !writer->anonymizer;
	writer->started_at = clocks_measure();
	trace_notify(writer->trace, writer->eventfd);
	if (writer->rotate_interval_ns)
		writer->rotate_at = writer->started_at.mono_ns + writer->rotate_interval_ns;
	return open_sinks(writer, config->format) ?: start_manifest(writer, config);
}

int writer_new(const struct writer_config *config, struct writer **ret)
{
	struct writer *writer = aligned_alloc(_Alignof(struct writer), sizeof(*writer));
	const struct rights *before;
	int error;

	if (!writer) {
		trace_free(config->trace);
		return -ENOMEM;
	}
	memset(writer, 0, sizeof(*writer));
	writer->rights.gid = getegid();
	writer->output_fd = -1;
	writer->eventfd = -1;
	writer->mask = config->streams;
	writer->trace = config->trace;
	cells_init(&writer->cells);
	writer_disk_init(&writer->disk);
	pthread_mutex_init(&writer->tap_lock, NULL);
	if (config->rights)
		writer->rights = *config->rights;
	before = rights_use(&writer->rights);
	error = open_writer(writer, config);
	rights_use(before); /* the thread sets its rights itself */
	mailbox_init(&writer->mailbox, writer->eventfd, config->notice ?: -1);
	if (!error) {
		error = thread_start(&writer->thread, writer_run, writer);
		writer->started = !error;
	}
	if (error < 0) {
		rights_use(&writer->rights);
		writer_remove(writer);
		rights_use(before);
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
	if (writer->started && !writer->stopping)
		writer_stop(writer, "stopped", NULL);
	writer_finish(writer);
	FOR_EACH_STREAM (writer, stream) {
		sink_done(&stream->sink);
		free(stream->format);
	}
	trace_free(writer->trace);
	manifest_done(&writer->manifest);
	losses_free(writer->losses);
	cells_anonymizer_free(writer->anonymizer);
	mailbox_done(&writer->mailbox);
	writer_disk_done(&writer->disk);
	pthread_mutex_destroy(&writer->tap_lock);
	queue_done(&writer->queue);
	if (writer->eventfd >= 0)
		close(writer->eventfd);
	if (writer->output_fd >= 0)
		close(writer->output_fd);
	free(writer);
}
