// SPDX-License-Identifier: GPL-2.0-or-later
/* The manifest as the writer keeps it. */
#include "writer_private.h"

#include <string.h>

#include "cleanup.h"
#include "log.h"

#define RETRY_NS    1000000000ULL /* for a manifest that could not be written */
#define MANIFEST_NS 200000000ULL  /* for one that has become stale */

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
		.forgotten = atomic_load(&stream->forgotten),
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
	if (!error)
		trace_told(writer->trace);
	atomic_store(&writer->manifest_error, error);
	writer->manifest_due = error < 0;
	if (error && !before)
		log_message(ABOUT(MANIFEST_NOT_WRITTEN, .output = writer->output, .error = -error),
			    "%s: the manifest cannot be written, and is tried again: %s", writer->output,
			    strerror(-error));
	else if (before && !error)
		log_message(ABOUT(MANIFEST_WRITTEN, .output = writer->output),
			    "%s: the manifest is written again", writer->output);
	return error;
}

uint64_t writer_manifest_at(const struct writer *writer)
{
	uint64_t least = atomic_load(&writer->manifest_error) ? RETRY_NS : MANIFEST_NS;
	uint64_t at = writer->manifest.written_ns + least, next = manifest_next_ns(&writer->manifest);

	return at > next ? at : next;
}

void writer_write_manifest_when_due(struct writer *writer, uint64_t now)
{
	if (writer->manifest_due && now >= writer_manifest_at(writer))
		writer_write_manifest(writer);
}
