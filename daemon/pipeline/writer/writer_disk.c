// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Times in which the disk took no rows: because it refused them, or because it did not answer. In
 * the latter the writer thread hangs in a call, the queue runs full, and what is lost there counts
 * as lost on the disk. That it hangs is known from the time of its last progress.
 */
#include "writer_private.h"

#include <string.h>

#include "log.h"
#include "schema.h"

#define STALL_NS 1000000000ULL

void writer_disk_init(struct writer_disk *disk)
{
	pthread_mutex_init(&disk->lock, NULL);
}

void writer_disk_done(struct writer_disk *disk)
{
	pthread_mutex_destroy(&disk->lock);
}

/* The wall-clock time, as the rows' timestamps have it. */
static uint64_t realtime(uint64_t mono_ns)
{
	return mono_ns + (uint64_t)clocks_at(mono_ns).offset_ns;
}

/* Room for a new entry; the oldest is dropped when there are too many. */
static struct writer_disk_error *new_error(struct writer_disk *disk)
{
	if (disk->count == WRITER_DISK_ERRORS)
		memmove(disk->errors, disk->errors + 1,
			--disk->count * sizeof(disk->errors[0]));
	return &disk->errors[disk->count++];
}

static void add_error(struct writer *writer, const struct writer_disk_error *error)
{
	pthread_mutex_lock(&writer->disk.lock);
	*new_error(&writer->disk) = *error;
	pthread_mutex_unlock(&writer->disk.lock);
}

/* ---- a disk that does not answer ---- */

uint64_t writer_disk_stalled_ns(const struct writer *writer)
{
	uint64_t then = atomic_load(&writer->disk.progress_ns), now = clocks_mono_ns();

	return then && now > then && now - then >= STALL_NS ? now - then : 0;
}

/* Takes what the queue lost since the thread's last progress; it counts as lost on the disk if `stalled`. */
static uint64_t take_stalled(struct writer_stream *stream, bool stalled)
{
	uint64_t lost = atomic_load(&stream->lost_queue);
	uint64_t fresh = lost - atomic_load(&stream->lost_seen);

	if (!fresh)
		return 0;
	/* In this order: a thread that reads in between counts them with the queue, but never twice. */
	atomic_store(&stream->lost_seen, lost);
	if (stalled)
		atomic_fetch_add(&stream->lost_stalled, fresh);
	return fresh;
}

/* The stall is over, and the queue that it filled is drained. */
static void end_stall(struct writer *writer, uint64_t now)
{
	struct writer_disk_error *stall = &writer->disk.stall;
	double seconds;

	stall->to_realtime_ns = realtime(now);
	seconds = (double)(stall->to_realtime_ns - stall->from_realtime_ns) / 1e9;
	log_message(ABOUT(DISK_STALLED, .output = writer->output, .rows = stall->lost),
		    "%s: the disk did not answer for %.1f s; %llu rows were lost", writer->output, seconds,
		    (unsigned long long)stall->lost);
	add_error(writer, stall);
	memset(stall, 0, sizeof(*stall));
	writer->manifest_due = true;
}

void writer_disk_progress(struct writer *writer, uint64_t now)
{
	uint64_t then = atomic_load_explicit(&writer->disk.progress_ns, memory_order_relaxed);
	struct writer_disk_error *stall = &writer->disk.stall;
	uint64_t lost = 0;

	if (then && now - then >= STALL_NS && !stall->from_realtime_ns)
		stall->from_realtime_ns = realtime(then);
	FOR_EACH_STREAM (writer, stream)
		lost += take_stalled(stream, stall->from_realtime_ns);
	atomic_store_explicit(&writer->disk.progress_ns, now, memory_order_relaxed);
	if (!stall->from_realtime_ns)
		return;
	stall->lost += lost;
	/* A queue that a stall has filled loses rows until it is drained; these count as lost on the disk as well. */
	if (queue_is_drained(&writer->queue))
		end_stall(writer, now);
}

void writer_disk_idle(struct writer *writer)
{
	atomic_store(&writer->disk.progress_ns, 0);
}

void writer_disk_counts(const struct writer *writer, const struct writer_stream *stream,
			uint64_t *lost_queue, uint64_t *lost_disk)
{
	uint64_t stalled = atomic_load(&stream->lost_stalled);
	uint64_t seen = atomic_load(&stream->lost_seen);
	uint64_t lost = atomic_load(&stream->lost_queue);

	if (writer_disk_stalled_ns(writer))
		stalled += lost - seen;
	*lost_queue = lost - stalled;
	*lost_disk = atomic_load(&stream->sink.lost) + stalled;
}

/* ---- a disk that refuses ---- */

static uint64_t rows_lost(struct writer *writer)
{
	uint64_t lost = 0;

	FOR_EACH_STREAM (writer, stream)
		lost += atomic_load(&stream->sink.lost);
	return lost;
}

static void note_stream(struct writer *writer, struct writer_stream *stream)
{
	const char *flag = iotr_schemas[stream->sink.stream].flag;
	int error = atomic_load_explicit(&stream->sink.error, memory_order_relaxed);
	uint64_t lost = atomic_load(&stream->sink.lost);

	if (!error == !stream->failing)
		return;
	stream->failing = error;
	if (error)
		log_message(ABOUT(DISK_REFUSES, .output = writer->output, .stream = flag, .error = -error),
			    "%s: rows of %s cannot be written, and are lost until they can: %s", writer->output, flag,
			    strerror(-error));
	else
		log_message(ABOUT(DISK_TAKES, .output = writer->output, .stream = flag, .rows = lost),
			    "%s: rows of %s are written again; %llu were lost", writer->output, flag,
			    (unsigned long long)lost);
}

static void begin_error(struct writer *writer, int error)
{
	uint64_t now = realtime(clocks_mono_ns());

	writer->disk.failing = true;
	add_error(writer, &(struct writer_disk_error){ .from_realtime_ns = now,
						       .error = error });
	writer->manifest_due = true;
}

static struct writer_disk_error *lasting(struct writer_disk *disk)
{
	for (size_t i = disk->count; i--;)
		if (!disk->errors[i].to_realtime_ns)
			return &disk->errors[i];
	return NULL;
}

static void end_error(struct writer *writer)
{
	uint64_t now = realtime(clocks_mono_ns()), lost = rows_lost(writer);
	struct writer_disk_error *error;

	pthread_mutex_lock(&writer->disk.lock);
	error = lasting(&writer->disk);
	if (error) {
		error->to_realtime_ns = now;
		error->lost = lost - writer->disk.told;
	}
	writer->disk.told = lost;
	pthread_mutex_unlock(&writer->disk.lock);
	writer->disk.failing = false;
	writer->manifest_due = true;
}

void writer_disk_note(struct writer *writer)
{
	int first = 0;

	FOR_EACH_STREAM (writer, stream) {
		note_stream(writer, stream);
		first = first ?: atomic_load_explicit(&stream->sink.error, memory_order_relaxed);
	}
	if (first && !writer->disk.failing)
		begin_error(writer, first);
	else if (!first && writer->disk.failing)
		end_error(writer);
}

/* ---- as others see it ---- */

static void add_time(struct json_object *object, const char *key, uint64_t realtime_ns)
{
	char text[CLOCKS_TEXT_MAX];

	json_object_object_add(
		object, key,
		realtime_ns ? json_object_new_string(clocks_format(text, realtime_ns)) : NULL);
}

static struct json_object *describe(const struct writer_disk_error *error, uint64_t lost)
{
	struct json_object *object = json_object_new_object();
	const char *what = error->error ? strerror(-error->error) : "did not answer";

	add_time(object, "from", error->from_realtime_ns);
	add_time(object, "to", error->to_realtime_ns);
	json_object_object_add(object, "error", json_object_new_string(what));
	json_object_object_add(object, "lost", json_object_new_uint64(lost));
	return object;
}

static void add_stall(struct writer *writer, struct json_object *array)
{
	uint64_t stalled = writer_disk_stalled_ns(writer), lost = 0;
	struct writer_disk_error error = { 0 };
	struct clocks clocks = clocks_measure();

	if (!stalled)
		return;
	error.from_realtime_ns = clocks.mono_ns + (uint64_t)clocks.offset_ns - stalled;
	FOR_EACH_STREAM (writer, stream)
		lost += atomic_load(&stream->lost_queue) - atomic_load(&stream->lost_seen);
	json_object_array_add(array, describe(&error, lost));
}

struct json_object *writer_disk_errors(const struct writer *writer)
{
	struct writer *from = (struct writer *)writer; /* only the lock is changed */
	struct json_object *array = json_object_new_array();
	uint64_t lost;

	pthread_mutex_lock(&from->disk.lock);
	lost = rows_lost(from); /* read under the lock: it is not less than disk.told */
	for (size_t i = 0; i < from->disk.count; i++) {
		const struct writer_disk_error *error = &from->disk.errors[i];

		json_object_array_add(array,
				      describe(error, error->to_realtime_ns ? error->lost
									    : lost - from->disk.told));
	}
	pthread_mutex_unlock(&from->disk.lock);
	add_stall(from, array);
	return array;
}
