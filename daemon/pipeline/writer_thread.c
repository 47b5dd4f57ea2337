// SPDX-License-Identifier: GPL-2.0-or-later
#include "writer_private.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

#include "cleanup.h"
#include "clock.h"
#include "log.h"

#define BATCH_ROWS	 1024
#define BUSY_SHARE	 4 /* a queue is busy when this part of it is filled: a quarter */
#define RETRY_NS	 1000000000ULL /* for a manifest that could not be written */
#define MANIFEST_NS	 200000000ULL  /* for one that has become stale */
#define LAST_TRIES	 8
#define WAIT_MAX_NS	 3600000000000ULL

static bool has_shown(struct writer_stream *stream)
{
	if (stream->shown)
		return true;
	stream->shown = malloc(sizeof(*stream->shown));
	if (stream->shown)
		format_csv_init(stream->shown);
	return stream->shown;
}

/* A live view has CSV, whatever the files have. */
static void show_as_csv(struct writer *writer, struct writer_stream *stream, const struct row *row,
			struct cell *cell, size_t columns, size_t more)
{
	char *line = has_shown(stream) ? malloc(format_csv_bound(row) + more) : NULL;
	size_t length;

	if (!line)
		return;
	length = format_csv_row(stream->shown, &writer->cells, cell, columns, line);
	pthread_mutex_lock(&writer->tap_lock);
	if (writer->tap)
		writer->tap(stream->sink.stream, line, length, writer->tap_userdata);
	pthread_mutex_unlock(&writer->tap_lock);
	free(line);
}

/* The line after the buffer's end becomes one of the session, if limits and room allow it. */
static bool accept_line(struct writer *writer, struct writer_stream *stream, char *line,
			size_t length, uint64_t start_ns)
{
	struct sink *sink = &stream->sink;
	struct sink_time time = { start_ns, start_ns + (uint64_t)writer->cells.realtime_offset };

	if (!writer_make_room(writer, sink, length)) {
		sink_lose_row(sink);
		return false;
	}
	if (!writer_within_limits(writer, sink, length)) {
		atomic_fetch_add(&stream->dropped, 1);
		return false;
	}
	if (line != sink->buffer + sink->used)
		memmove(sink->buffer + sink->used, line, length); /* a rotation emptied the buffer */
	sink_commit(sink, length, time);
	writer_check_rows(writer);
	return true;
}

/*
 * Fills the cells of the row, with hashes for names where they are anonymised; `more` is how many
 * bytes its texts take beyond those of the row.
 */
static size_t fill_cells(struct writer *writer, struct row *row, struct cell *cell, size_t *more)
{
	size_t columns = writer->format->fill(&writer->cells, row, cell);

	*more = 0;
	if (writer->anonymizer)
		*more = cells_anonymize(writer->anonymizer, &writer->cells, row, cell, columns);
	return columns;
}

/* The wall clock may be set or slewed while we run: each row gets the wall-clock time at which it happened. */
static void choose_clock(struct writer *writer, uint64_t start_ns)
{
	if (clocks_covers(&writer->clock, start_ns))
		return;
	writer->clock = clocks_at(start_ns);
	writer->cells.realtime_offset = writer->clock.offset_ns;
}

static void write_row(struct writer *writer, struct row *row)
{
	struct writer_stream *stream = &writer->streams[row->record->stream];
	struct cell cell[CELLS_MAX];
	size_t more, columns;
	char *line;
	size_t length;

	choose_clock(writer, row->record->start_ns);
	columns = fill_cells(writer, row, cell, &more);
	line = sink_reserve(&stream->sink, writer->format->bound(row) + more);
	length = writer->format->row(stream->format, &writer->cells, cell, columns, line);
	if (atomic_load_explicit(&stream->sink.error, memory_order_relaxed) &&
	    !writer->disk.failing)
		writer_disk_note(writer);
	if (accept_line(writer, stream, line, length, row->record->start_ns) &&
	    atomic_load_explicit(&writer->tapped, memory_order_relaxed))
		show_as_csv(writer, stream, row, cell, columns, more);
}

/* Hashing waits while the queue fills. */
static void choose_hashing(struct writer *writer)
{
	bool has_time = queue_waiting(&writer->queue) < writer->queue.size / BUSY_SHARE;

	FOR_EACH_STREAM (writer, stream)
		stream->sink.hash_at_once = has_time;
}

/* Counts a row after a limit, which is not of the session. */
static void drop_row(struct writer *writer, const struct row *row)
{
	atomic_fetch_add(&writer->streams[row->record->stream].dropped, 1);
}

static size_t write_batch(struct writer *writer)
{
	struct row row;
	size_t rows = 0;

	choose_hashing(writer);
	while (rows < BATCH_ROWS && queue_front(&writer->queue, &row)) {
		if (atomic_load_explicit(&writer->limit, memory_order_relaxed))
			drop_row(writer, &row);
		else
			write_row(writer, &row);
		queue_pop(&writer->queue);
		rows++;
	}
	return rows;
}

static void flush_when_due(struct writer *writer, size_t new_rows, uint64_t now)
{
	if (!new_rows && !writer->flush_at)
		return;
	if (!writer->flush_at) {
		writer->flush_at = now + WRITER_FLUSH_NS;
	} else if (now >= writer->flush_at) {
		writer_flush(writer);
		writer->flush_at = writer_has_rows(writer) ? now + WRITER_FLUSH_NS : 0;
	}
}

static uint64_t less(uint64_t from, uint64_t amount)
{
	return from > amount ? from - amount : 0;
}

/*
 * Describes the stream for the manifest. The counts of lost rows are those of the last look, as
 * each loss has a time there.
 */
static struct manifest_stream describe_stream(struct writer *writer, struct writer_stream *stream,
					      const uint64_t lost[LOSS_CAUSES])
{
	struct manifest_stream description = {
		.sink = &stream->sink,
		.missed = atomic_load(&stream->missed),
		.unfollowed = atomic_load(&stream->unfollowed),
		.lost = lost,
		.lost_names = atomic_load(&stream->lost_names),
		.received = atomic_load(&stream->received) - atomic_load(&stream->dropped),
	};
	uint64_t refused = writer_refused(writer, stream->sink.stream), least;

	description.emitted = less(atomic_load(&stream->emitted), refused);
	/* While the session runs, `emitted` of the last report may lack rows that came since. */
	least = atomic_load(&stream->sink.written);
	for (enum loss_cause cause = 0; cause < LOSS_CAUSES; cause++)
		least += lost[cause];
	if (!writer->ended && description.emitted < least)
		description.emitted = least;
	return description;
}

/* Takes note of segments that were compressed or removed meanwhile. */
static void collect_changes(struct writer *writer)
{
	struct trace_change change;

	while (trace_next_change(writer->trace, &change))
		sink_change(&writer->streams[change.stream].sink, &change);
}

int writer_write_manifest(struct writer *writer)
{
	struct manifest_stream streams[IOTR_STREAM_COUNT] = { 0 };
	_cleanup_json_ struct json_object *disk_errors = writer_disk_errors(writer), *losses = NULL;
	struct losses_counts lost;
	struct manifest_state state = {
		.streams = streams,
		.clocks = clocks_measure(),
		.reason = writer->reason[0] ? writer->reason : NULL,
		.disk_errors = disk_errors,
	};
	int error, before = atomic_load(&writer->manifest_error);

	collect_changes(writer);
	atomic_store(&writer->losses_due, false);
	losses_look(writer->losses, writer_read_losses, writer, &lost);
	state.losses = losses = losses_describe(writer->losses, LOSSES_MAX);
	FOR_EACH_STREAM (writer, stream)
		streams[stream->sink.stream] = describe_stream(writer, stream, lost.rows[stream->sink.stream]);
	error = manifest_write(&writer->manifest, &state);
	atomic_store(&writer->manifest_error, error);
	writer->manifest_due = error < 0;
	if (error && !before)
		log_error("%s: the manifest cannot be written: %s", writer->output, strerror(-error));
	else if (before && !error)
		log_notice("%s: the manifest is written again", writer->output);
	return error;
}

/* When a manifest that is due may be written. */
static uint64_t manifest_at(const struct writer *writer)
{
	uint64_t least = atomic_load(&writer->manifest_error) ? RETRY_NS : MANIFEST_NS;
	uint64_t at = writer->manifest.written_ns + least, next = manifest_next_ns(&writer->manifest);

	return at > next ? at : next;
}

static void write_manifest_when_due(struct writer *writer, uint64_t now)
{
	if (!writer->manifest_due || now < manifest_at(writer))
		return;
	writer_write_manifest(writer);
	writer->manifest_due |= writer_hashes_missing(writer);
}

/* One piece of hashing, of whichever stream has one. */
static bool hash(struct writer *writer)
{
	FOR_EACH_STREAM (writer, stream)
		if (sink_hash(&stream->sink))
			return true;
	return false;
}

void writer_hash_some(struct writer *writer, size_t bytes)
{
	while (bytes >= SEGMENT_HASH_CHUNK && hash(writer)) {
		bytes -= SEGMENT_HASH_CHUNK;
		writer_disk_progress(writer, clocks_mono_ns());
	}
}

/* Whether a closed segment has no hash yet. */
bool writer_hashes_missing(struct writer *writer)
{
	FOR_EACH_STREAM (writer, stream)
		if (stream->sink.unhashed && stream->sink.unhashed->closed &&
		    stream->sink.unhashed->fd >= 0)
			return true;
	return false;
}

static uint64_t rotation_at(const struct writer *writer)
{
	return writer->rotate_at > writer->retry_at ? writer->rotate_at : writer->retry_at;
}

static int timeout_ms(const struct writer *writer)
{
	uint64_t now = clocks_mono_ns(), at = UINT64_MAX;

	if (writer->flush_at)
		at = writer->flush_at;
	if (writer->rotate_at && rotation_at(writer) < at)
		at = rotation_at(writer);
	if (writer->manifest_due && manifest_at(writer) < at)
		at = manifest_at(writer);
	if (at == UINT64_MAX)
		return -1;
	return at > now ? (int)((at - now < WAIT_MAX_NS ? at - now : WAIT_MAX_NS) / 1000000) + 1 : 0;
}

static void wait(struct writer *writer)
{
	struct pollfd pollfd = { .fd = writer->eventfd, .events = POLLIN };
	eventfd_t value;

	if (!queue_idle(&writer->queue))
		return;
	writer_disk_idle(writer);
	if (poll(&pollfd, 1, timeout_ms(writer)) > 0)
		eventfd_read(writer->eventfd, &value);
}

static void close_sinks(struct writer *writer, struct writer_paths *paths)
{
	FOR_EACH_STREAM (writer, stream) {
		const struct segment *last = stream->sink.segment;

		sink_close(&stream->sink);
		/* A segment that begins only as the last rows are written is the last of the list. */
		if (!last)
			last = TAILQ_LAST(&stream->sink.segments, segment_list);
		if (last->closed)
			writer_add_path(writer, paths, &stream->sink, last);
	}
	writer_disk_note(writer);
}

/* Making room for the manifest may remove a segment that it lists: then it is written again. */
static int write_last_manifest(struct writer *writer)
{
	int error, tries = LAST_TRIES;

	do
		error = writer_write_manifest(writer);
	while (!error && trace_has_changes(writer->trace) && --tries);
	return error;
}

int writer_do_stop(void *owner, struct mail *mail)
{
	struct writer_mail *stop = (struct writer_mail *)mail;
	struct writer *writer = owner;
	uint64_t now = clocks_mono_ns();
	int error;

	while (write_batch(writer)) {
		now = clocks_mono_ns();
		writer_disk_progress(writer, now);
	}
	snprintf(writer->reason, sizeof(writer->reason), "%s", stop->reason);
	close_sinks(writer, &stop->paths);
	writer_disk_progress(writer, clocks_mono_ns());
	writer_hash_some(writer, SIZE_MAX);
	writer_disk_idle(writer);
	writer->ended = true;
	writer->flush_at = writer->rotate_at = 0; /* only the manifest is waited for from now on */
	error = write_last_manifest(writer);
	losses_log(writer->losses);
	FOR_EACH_STREAM (writer, stream)
		writer->manifest_due |= stream->sink.unclosed != NULL;
	return error;
}

int writer_do_discard(void *owner, struct mail *mail)
{
	struct writer *writer = owner;

	(void)mail;
	writer_disk_idle(writer);
	writer_remove(writer);
	writer->ended = true;
	writer->manifest_due = false;
	return 0;
}

int writer_do_redefine(void *owner, struct mail *mail)
{
	struct writer_mail *redefinition = (struct writer_mail *)mail;
	struct writer *writer = owner;

	writer->manifest_due = true;
	return manifest_redefine(&writer->manifest, TAKE(redefinition->object),
				 &redefinition->clocks);
}

int writer_do_snapshots(void *owner, struct mail *mail)
{
	struct writer_mail *snapshots = (struct writer_mail *)mail;
	struct writer *writer = owner;

	manifest_set_snapshots(&writer->manifest, TAKE(snapshots->object));
	writer->manifest_due = true;
	return snapshots->handler ? writer_write_manifest(writer) : 0;
}

int writer_do_missing(void *owner, struct mail *mail)
{
	struct writer_mail *missing = (struct writer_mail *)mail;
	struct writer *writer = owner;

	manifest_set_missing(&writer->manifest, TAKE(missing->object));
	writer->manifest_due = true;
	return 0;
}

/* Does what is left after the stop: final names of files, and the manifest. */
static void retry(struct writer *writer)
{
	int left = 0;

	FOR_EACH_STREAM (writer, stream)
		left |= sink_close_rest(&stream->sink);
	writer_hash_some(writer, SIZE_MAX);
	writer_disk_idle(writer);
	writer_write_manifest(writer);
	writer->manifest_due |= left;
}

/* Whether the folder was removed: nothing can be made in it any more. */
static bool is_gone(const struct writer *writer)
{
	struct stat status;

	return atomic_load(&writer->manifest_error) == -ENOENT &&
	       (fstat(writer->output_fd, &status) < 0 || !status.st_nlink);
}

static bool is_left(struct writer *writer)
{
	if (writer->manifest_due && is_gone(writer)) {
		log_notice("%s: the folder was removed; its manifest is given up", writer->output);
		return false;
	}
	return writer->manifest_due && !atomic_load(&writer->abandoned);
}

static void turn(struct writer *writer)
{
	uint64_t now = clocks_mono_ns();
	size_t rows;

	writer_disk_progress(writer, now);
	rows = write_batch(writer);
	flush_when_due(writer, rows, now);
	writer_rotate_when_due(writer, now);
	writer->manifest_due |= trace_has_changes(writer->trace) || atomic_load(&writer->losses_due);
	write_manifest_when_due(writer, now);
	mailbox_serve(&writer->mailbox, writer);
	if (!rows && !writer->ended && !hash(writer))
		wait(writer);
}

void *writer_run(void *argument)
{
	struct writer *writer = argument;

	rights_use(&writer->rights);
	while (!writer->ended)
		turn(writer);
	writer_disk_idle(writer);
	while (is_left(writer)) {
		mailbox_serve(&writer->mailbox, writer);
		wait(writer);
		if (clocks_mono_ns() >= manifest_at(writer))
			retry(writer);
	}
	trace_ended(writer->trace);
	mailbox_serve(&writer->mailbox, writer);
	atomic_store(&writer->cpu_ns, clock_ns(CLOCK_THREAD_CPUTIME_ID));
	atomic_store(&writer->finished, true);
	mailbox_notify(&writer->mailbox);
	return NULL;
}
