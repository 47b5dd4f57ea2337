// SPDX-License-Identifier: GPL-2.0-or-later
/* Segments as the writer ends and removes them, and the limits of a session. */
#include "writer_private.h"

#include <stdio.h>
#include <unistd.h>

#include "cgroups/file.h"
#include "schema.h"
#include "tree.h"

int writer_flush(struct writer *writer)
{
	int result = 0;

	FOR_EACH_STREAM (writer, stream) {
		int error = sink_flush(&stream->sink);

		result = result ?: error;
	}
	writer_disk_note(writer);
	return result;
}

static void add_path(const struct writer *writer, struct writer_paths *paths, const struct sink *sink,
		     const struct segment *segment)
{
	char **path = paths ? &paths->paths[sink->stream] : NULL;

	if (path && asprintf(path, "%s/%s/%s", writer->output, iotr_schemas[sink->stream].folder,
			     segment->name) < 0)
		*path = NULL;
}

bool writer_has_rows(struct writer *writer)
{
	FOR_EACH_STREAM (writer, stream)
		if (sink_unwritten(&stream->sink))
			return true;
	return false;
}

int writer_cut_all(struct writer *writer, struct writer_paths *paths)
{
	int error = writer_flush(writer);
	bool any = false;

	if (writer_has_rows(writer))
		return error;
	FOR_EACH_STREAM (writer, stream) {
		const struct segment *segment = sink_cut(&stream->sink);

		if (segment && segment->closed)
			add_path(writer, paths, &stream->sink, segment);
		any |= segment != NULL;
	}
	writer_disk_note(writer);
	writer->manifest_due |= any;
	return 0;
}

void writer_close_all(struct writer *writer, struct writer_paths *paths)
{
	FOR_EACH_STREAM (writer, stream) {
		const struct segment *last = stream->sink.segment;

		sink_close(&stream->sink);
		/* A segment that begins only as the last rows are written is the last of the list. */
		if (!last)
			last = TAILQ_LAST(&stream->sink.segments, segment_list);
		if (last->closed)
			add_path(writer, paths, &stream->sink, last);
	}
	writer_disk_note(writer);
}

void writer_remove(struct writer *writer)
{
	trace_forget(writer->trace);
	FOR_EACH_STREAM (writer, stream)
		sink_remove(&stream->sink, writer->output_fd);
	cgroup_file_remove(writer->output_fd);
	if (writer->manifest.constant)
		manifest_remove(&writer->manifest);
	if (writer->own_folder)
		tree_rmdir(writer->output);
}

/* The times are those of the start and multiples of the interval after it. */
static void set_next_time(struct writer *writer, uint64_t now)
{
	writer->rotate_at += (now - writer->rotate_at) / writer->rotate_interval_ns *
				     writer->rotate_interval_ns +
			     writer->rotate_interval_ns;
}

void writer_rotate_when_due(struct writer *writer, uint64_t now)
{
	if (!writer->rotate_at || now < writer->rotate_at ||
	    (writer->disk.failing && now < writer->retry_at))
		return;
	if (writer_cut_all(writer, NULL) < 0)
		writer->retry_at = now + WRITER_FLUSH_NS;
	else
		set_next_time(writer, now);
}

bool writer_make_room(struct writer *writer, const struct sink *sink, size_t size)
{
	uint64_t now;

	if (!writer->rotate_size || sink_fits(sink, size, writer->rotate_size))
		return true;
	now = clocks_mono_ns();
	if (writer->disk.failing && now < writer->retry_at)
		return false;
	if (writer_cut_all(writer, NULL) < 0) {
		writer->retry_at = now + WRITER_FLUSH_NS;
		return false;
	}
	return true;
}

static void reach_limit(struct writer *writer, const char *reason)
{
	atomic_store(&writer->limit, reason);
	mailbox_notify(&writer->mailbox);
}

bool writer_within_limits(struct writer *writer, const struct sink *sink, size_t size)
{
	if (writer->max_size && writer->extent.bytes + sink_growth(sink, size) > writer->max_size)
		reach_limit(writer, "max-size");
	return !atomic_load_explicit(&writer->limit, memory_order_relaxed);
}

void writer_check_rows(struct writer *writer)
{
	if (writer->max_events && writer->extent.rows >= writer->max_events)
		reach_limit(writer, "max-events");
}
