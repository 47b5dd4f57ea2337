// SPDX-License-Identifier: GPL-2.0-or-later
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

#define HUNG_NS	   10000000000ULL /* a disk on which nothing has moved for so long does not answer */
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

bool writer_queue_has_room(struct writer *writer)
{
	return queue_has_room(&writer->queue);
}

void writer_queue_wake(struct writer *writer)
{
	queue_wake(&writer->queue);
}

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
		writer->format->init(stream->format, which);
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

void writer_finish(struct writer *writer)
{
	if (!writer->started || writer->stopped)
		return;
	atomic_store(&writer->abandoned, true);
	eventfd_write(writer->eventfd, 1);
	pthread_join(writer->thread, NULL);
	writer->stopped = true;
	writer_collect(writer);
}

bool writer_finish_until(struct writer *writer, uint64_t until_ns)
{
	const struct timespec moment = { .tv_nsec = 1000000 };

	if (!writer->started || writer->stopped)
		return true;
	atomic_store(&writer->abandoned, true);
	eventfd_write(writer->eventfd, 1);
	while (!writer_finished(writer)) {
		if (clocks_mono_ns() >= until_ns || writer_disk_stalled_ns(writer) >= HUNG_NS)
			return false;
		nanosleep(&moment, NULL);
	}
	writer_finish(writer);
	return true;
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
		free(stream->shown);
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

void writer_remove(struct writer *writer)
{
	trace_forget(writer->trace);
	FOR_EACH_STREAM (writer, stream)
		sink_remove(&stream->sink, writer->output_fd);
	if (writer->manifest.constant)
		manifest_remove(&writer->manifest);
	if (writer->own_folder)
		rmdir(writer->output);
}

void writer_paths_done(struct writer_paths *paths)
{
	for (int stream = 0; stream < IOTR_STREAM_COUNT; stream++) {
		free(paths->paths[stream]);
		paths->paths[stream] = NULL;
	}
}

static void mail_done(struct mail *mail)
{
	struct writer_mail *done = (struct writer_mail *)mail;

	if (done->handler)
		done->handler(mail->result, &done->paths, done->userdata);
	writer_paths_done(&done->paths);
	json_object_put(done->object);
	free(done);
}

/* Posts a copy of the mail, which owns the mail's object from then on. */
static int post(struct writer *writer, const struct writer_mail *mail)
{
	struct writer_mail *posted = malloc(sizeof(*posted));

	if (!posted)
		return -ENOMEM;
	*posted = *mail;
	posted->mail.done = mail_done;
	mailbox_post(&writer->mailbox, &posted->mail);
	return 0;
}

/* Posts the mail with which the thread ends. */
static int post_last(struct writer *writer, const struct writer_mail *mail)
{
	int error = writer->stopping ? 0 : post(writer, mail);

	writer->stopping |= !error;
	return error;
}

int writer_rotate_begin(struct writer *writer, writer_handler handler, void *userdata)
{
	const struct writer_mail mail = {
		.mail.work = writer_do_rotate,
		.handler = handler,
		.userdata = userdata,
	};

	return writer->stopping ? -ESHUTDOWN : post(writer, &mail);
}

int writer_stop_begin(struct writer *writer, const char *reason, writer_handler handler,
		      void *userdata)
{
	const struct writer_mail mail = {
		.mail.work = writer_do_stop,
		.reason = reason,
		.handler = handler,
		.userdata = userdata,
	};

	return post_last(writer, &mail);
}

int writer_discard_begin(struct writer *writer, writer_handler handler, void *userdata)
{
	const struct writer_mail mail = {
		.mail.work = writer_do_discard,
		.handler = handler,
		.userdata = userdata,
	};

	return post_last(writer, &mail);
}

void writer_collect(struct writer *writer)
{
	mailbox_collect(&writer->mailbox);
}

bool writer_finished(const struct writer *writer)
{
	return atomic_load(&writer->finished);
}

int writer_rotate(struct writer *writer, struct writer_paths *paths)
{
	struct writer_mail mail = { .mail.work = writer_do_rotate };
	int result = -ESHUTDOWN;

	if (!writer->stopping)
		result = mailbox_call(&writer->mailbox, &mail.mail);
	*paths = mail.paths;
	return result;
}

int writer_redefine(struct writer *writer, struct json_object *definition)
{
	struct writer_mail mail = { .mail.work = writer_do_redefine, .clocks = clocks_measure() };
	int error;

	if (writer->stopping)
		return -ESHUTDOWN;
	if (json_object_deep_copy(definition, &mail.object, NULL) < 0)
		return -ENOMEM;
	error = post(writer, &mail);
	if (error < 0)
		json_object_put(mail.object);
	return error;
}

int writer_stop(struct writer *writer, const char *reason, struct writer_paths *paths)
{
	struct writer_mail mail = { .mail.work = writer_do_stop, .reason = reason };
	int result = 0;

	if (!writer->stopping) {
		writer->stopping = true;
		result = mailbox_call(&writer->mailbox, &mail.mail);
		writer_finish(writer);
	}
	if (paths)
		*paths = mail.paths;
	else
		writer_paths_done(&mail.paths);
	return result;
}

const char *writer_limit(const struct writer *writer)
{
	return atomic_load(&writer->limit);
}

int writer_manifest_error(const struct writer *writer)
{
	return atomic_load(&writer->manifest_error);
}

uint64_t writer_refused(const struct writer *writer, enum iotr_stream stream)
{
	const struct writer_stream *of = &writer->streams[stream];

	return atomic_load(&of->refused) + atomic_load(&of->dropped);
}

void writer_report(struct writer *writer, enum iotr_stream stream, const struct writer_probes *probes)
{
	struct writer_stream *of = &writer->streams[stream];

	atomic_store(&of->emitted, probes->emitted);
	atomic_store(&of->lost_ring, probes->ring);
	atomic_store(&of->lost_unmatched, probes->unmatched);
	atomic_store(&of->missed, probes->missed);
	atomic_store(&of->unfollowed, probes->unfollowed);
}

int writer_snapshots(struct writer *writer, struct json_object *list, writer_handler handler, void *userdata)
{
	const struct writer_mail mail = {
		.mail.work = writer_do_snapshots,
		.object = list,
		.handler = handler,
		.userdata = userdata,
	};
	int r = writer->stopping ? -ESHUTDOWN : post(writer, &mail);

	if (r < 0)
		json_object_put(list);
	return r;
}

void writer_missing(struct writer *writer, struct json_object *missing)
{
	struct writer_mail mail = { .mail.work = writer_do_missing };

	if (!writer->stopping && json_object_deep_copy(missing, &mail.object, NULL) >= 0 &&
	    post(writer, &mail) < 0)
		json_object_put(mail.object);
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

	losses_log(writer->losses);
	if (!fresh || atomic_exchange(&writer->losses_due, true))
		return;
	eventfd_write(writer->eventfd, 1);
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

void writer_tap_set(struct writer *writer, writer_tap tap, void *userdata)
{
	pthread_mutex_lock(&writer->tap_lock);
	writer->tap = tap;
	writer->tap_userdata = userdata;
	pthread_mutex_unlock(&writer->tap_lock);
	atomic_store(&writer->tapped, tap);
}
