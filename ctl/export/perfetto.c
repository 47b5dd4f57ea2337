// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/perfetto.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/action.h"
#include "export/pending.h"
#include "export/perfetto_packets.h"
#include "export/perfetto_tracks.h"
#include "reading/time_text.h"

#define WINDOW_NS (PERFETTO_WINDOW_MS * UINT64_C(1000000))

enum direction { DIRECTION_READ, DIRECTION_WRITE, DIRECTION_COUNT, DIRECTION_NONE = DIRECTION_COUNT };

static const char *const direction_names[DIRECTION_COUNT] = { "read", "write" };

struct disk {
	uint64_t depth_uuid, rate_uuids[DIRECTION_COUNT];
	uint64_t depth;
	uint64_t bytes[DIRECTION_COUNT]; /* of the present window */
	uint64_t rates[DIRECTION_COUNT]; /* that were told last, a second */
};

struct perfetto {
	struct export_sink sink;
	struct perfetto_packets packets;
	struct perfetto_tracks tracks;
	struct export_names disk_names;
	struct disk disks[PERFETTO_DISKS_MAX];
	struct pending_list pending;
	bool begun;
	uint64_t reached_ns, window, number;
	uint64_t rows[IOTR_STREAM_COUNT], bytes[IOTR_STREAM_COUNT];
	uint64_t late;
};

/* ---- disks ---- */

/* The track that the requests of a disk are below, and its counters. */
static int describe_disk(struct perfetto *perfetto, uint64_t uuid, const char *name, struct disk *disk)
{
	char text[EXPORT_TEXT_MAX + 32];
	int r = perfetto_packets_track(&perfetto->packets, uuid, 0, name);

	disk->depth_uuid = perfetto_uuid('q', uuid, 0);
	snprintf(text, sizeof(text), "%s queue depth", name);
	if (!r)
		r = perfetto_packets_counter(&perfetto->packets, disk->depth_uuid, uuid, text, PERFETTO_UNIT_COUNT);
	for (uint64_t i = 0; i < DIRECTION_COUNT && !r; i++) {
		disk->rate_uuids[i] = perfetto_uuid('r', uuid, i);
		snprintf(text, sizeof(text), "%s %s per second", name, direction_names[i]);
		r = perfetto_packets_counter(&perfetto->packets, disk->rate_uuids[i], uuid, text, PERFETTO_UNIT_BYTES);
	}
	return r;
}

static int64_t disk_of(struct perfetto *perfetto, const char *name)
{
	struct trace_text text = { name, strlen(name) };
	int64_t number = export_names_number(&perfetto->disk_names, text, PERFETTO_DISKS_MAX);

	if (number == -E2BIG)
		snprintf(perfetto->sink.message, sizeof(perfetto->sink.message),
			 "there are more than %d disks: choose some, as with --device", PERFETTO_DISKS_MAX);
	return number;
}

/* The value from then on, if it is another than before. */
static int tell_rate(struct perfetto *perfetto, struct disk *disk, int direction, uint64_t window, uint64_t bytes)
{
	uint64_t rate;

	if (__builtin_mul_overflow(bytes, 1000 / PERFETTO_WINDOW_MS, &rate))
		rate = UINT64_MAX;
	if (rate == disk->rates[direction])
		return 0;
	disk->rates[direction] = rate;
	return perfetto_packets_count_late(&perfetto->packets, disk->rate_uuids[direction], window * WINDOW_NS, rate);
}

/* The window has passed, and the one of that number begins: those between have nothing in them. */
static int pass_window(struct perfetto *perfetto, uint64_t begins)
{
	uint64_t passed = perfetto->window;
	int r = 0;

	perfetto->window = begins;
	for (size_t i = 0; i < DIRECTION_COUNT * perfetto->disk_names.count && !r; i++) {
		struct disk *disk = &perfetto->disks[i / DIRECTION_COUNT];
		int direction = i % DIRECTION_COUNT;

		r = tell_rate(perfetto, disk, direction, passed, disk->bytes[direction]);
		disk->bytes[direction] = 0;
	}
	for (size_t i = 0; i < DIRECTION_COUNT * perfetto->disk_names.count && !r && begins > passed + 1; i++)
		r = tell_rate(perfetto, &perfetto->disks[i / DIRECTION_COUNT], i % DIRECTION_COUNT, passed + 1, 0);
	return r;
}

static enum direction direction_of(const struct export_row *row)
{
	enum export_action action = export_action(row);

	return action == EXPORT_READ ? DIRECTION_READ : action == EXPORT_WRITE ? DIRECTION_WRITE : DIRECTION_NONE;
}

/* ---- ends ---- */

/* What an operation counts for when it ends: 0 of none of a disk. */
static uint32_t account_of(int64_t disk, enum direction direction)
{
	return (uint32_t)disk * (DIRECTION_COUNT + 1) + direction + 1;
}

static int end_on_disk(struct perfetto *perfetto, const struct pending *one, uint64_t ns)
{
	struct disk *disk = &perfetto->disks[(one->file - 1) / (DIRECTION_COUNT + 1)];
	enum direction direction = (one->file - 1) % (DIRECTION_COUNT + 1);
	uint64_t window = ns / WINDOW_NS;
	int r = window == perfetto->window ? 0 : pass_window(perfetto, window);

	if (direction != DIRECTION_NONE && __builtin_add_overflow(disk->bytes[direction], one->bytes, &disk->bytes[direction]))
		disk->bytes[direction] = UINT64_MAX;
	disk->depth--;
	return r < 0 ? r : perfetto_packets_count(&perfetto->packets, disk->depth_uuid, ns, disk->depth);
}

/* Writes what ends until then. */
static int write_ends(struct perfetto *perfetto, uint64_t until_ns)
{
	struct pending one;
	int r = 0;

	while (!r && pending_take(&perfetto->pending, until_ns, &one)) {
		uint64_t ns = pending_reach(&perfetto->reached_ns, one.end_ns);

		r = perfetto_packets_end(&perfetto->packets, one.track, ns);
		if (!r && one.file)
			r = end_on_disk(perfetto, &one, ns);
	}
	return r;
}

/* ---- tracks ---- */

static struct perfetto_track *find_track(struct perfetto *perfetto, uint64_t uuid, bool *fresh, int *error)
{
	struct perfetto_track *track = perfetto_tracks_find(&perfetto->tracks, uuid, perfetto->reached_ns, PERFETTO_TRACKS_MAX,
							    fresh, error);

	if (!track && *error == -E2BIG)
		snprintf(perfetto->sink.message, sizeof(perfetto->sink.message),
			 "more than %d threads have I/O under way at once: choose some, as with --pid", PERFETTO_TRACKS_MAX);
	return track;
}

static int describe_thread(struct perfetto *perfetto, const struct export_row *row, uint64_t uuid, const char *name)
{
	uint64_t process = perfetto_uuid('p', row->pid, 0);
	bool fresh;
	int r = 0;

	if (!find_track(perfetto, process, &fresh, &r))
		return r;
	if (fresh)
		r = perfetto_packets_process(&perfetto->packets, process, row->pid, name);
	return r < 0 ? r : perfetto_packets_thread(&perfetto->packets, uuid, process, row->pid, row->tid, name);
}

/* The track of the row's thread or disk, which is described when it is new. */
static struct perfetto_track *track_of(struct perfetto *perfetto, const struct export_row *row, int64_t disk, const char *name,
				       int *error)
{
	uint64_t uuid = disk < 0 ? perfetto_uuid('t', row->pid, row->tid) : perfetto_uuid('d', (uint64_t)disk, 0);
	bool fresh;

	if (!find_track(perfetto, uuid, &fresh, error))
		return NULL;
	if (fresh)
		*error = disk < 0 ? describe_thread(perfetto, row, uuid, name) :
				    describe_disk(perfetto, uuid, name, &perfetto->disks[disk]);
	/* What was described meanwhile may have moved it. */
	return *error < 0 ? NULL : find_track(perfetto, uuid, &fresh, error);
}

/* The number of a track that is free for an operation of that time: slices of one track nest, and must not overlap. */
static uint64_t take_lane(struct perfetto *perfetto, struct perfetto_track *track, bool disk, uint64_t begin_ns,
			  uint64_t end_ns, int *error)
{
	uint64_t parent = track->uuid, uuid;
	bool fresh;
	int lane = perfetto_track_take(track, begin_ns, end_ns, PERFETTO_LANES_MAX, &fresh);

	if (lane == -E2BIG)
		snprintf(perfetto->sink.message, sizeof(perfetto->sink.message),
			 "more than %d operations of a thread or disk are under way at once", PERFETTO_LANES_MAX);
	*error = lane < 0 ? lane : 0;
	/* Requests of a disk are all below it, what a thread does is on it as far as one thing follows another. */
	if (lane < 0 || (!lane && !disk))
		return parent;
	uuid = perfetto_uuid('l', parent, (uint64_t)lane);
	if (fresh)
		*error = perfetto_packets_track(&perfetto->packets, uuid, parent, disk ? "requests" : "at the same time");
	return uuid;
}

/* ---- rows ---- */

static int begin_time(struct perfetto *perfetto, const struct export_row *row)
{
	uint64_t real_ns = 0;

	if (perfetto->begun)
		return 0;
	perfetto->begun = true;
	perfetto->window = pending_reach(&perfetto->reached_ns, row->begin_ns) / WINDOW_NS;
	time_text_ns(row->time, &real_ns);
	return perfetto_packets_clock(&perfetto->packets, perfetto->reached_ns, real_ns);
}

static int begin_on_disk(struct perfetto *perfetto, int64_t number, uint64_t ns)
{
	struct disk *disk = &perfetto->disks[number];

	disk->depth++;
	return perfetto_packets_count(&perfetto->packets, disk->depth_uuid, ns, disk->depth);
}

static int put_slice(struct perfetto *perfetto, const struct export_row *row, int64_t disk, const char *name)
{
	uint64_t ns = pending_reach(&perfetto->reached_ns, row->begin_ns), uuid;
	uint64_t end_ns = row->end_ns < PENDING_TIME_MAX ? row->end_ns : PENDING_TIME_MAX;
	uint64_t bytes = row->failed ? 0 : row->done;
	uint64_t flow = row->flow && (row->stream == IOTR_VFS || row->stream == IOTR_BLOCK) ?
				perfetto_uuid('f', row->flow, 0) : 0;
	struct perfetto_track *track;
	int r = 0;

	end_ns = end_ns > ns ? end_ns : ns;
	track = track_of(perfetto, row, disk, name, &r);
	if (!track)
		return r;
	uuid = take_lane(perfetto, track, disk >= 0, ns, end_ns, &r);
	if (r >= 0)
		r = perfetto_packets_begin(&perfetto->packets, uuid, ns, row, flow);
	if (r >= 0 && disk >= 0)
		r = begin_on_disk(perfetto, disk, ns);
	if (r >= 0)
		r = pending_add(&perfetto->pending, (struct pending){
			.end_ns = end_ns, .number = perfetto->number++, .bytes = bytes, .track = uuid,
			.file = disk < 0 ? 0 : account_of(disk, direction_of(row)) });
	perfetto->late += ns > row->begin_ns;
	perfetto->rows[row->stream]++;
	perfetto->bytes[row->stream] += bytes;
	return r;
}

static int put_row(struct export_sink *sink, const struct export_row *row)
{
	struct perfetto *perfetto = (struct perfetto *)sink;
	bool on_disk = row->stream == IOTR_BLOCK;
	char name[EXPORT_TEXT_MAX + 1];
	int64_t disk = -1;
	int r = begin_time(perfetto, row);

	if (r >= 0)
		r = write_ends(perfetto, row->begin_ns > perfetto->reached_ns ? row->begin_ns : perfetto->reached_ns);
	if (r < 0)
		return r;
	if (!export_text(on_disk ? row->disk : row->command, name))
		strcpy(name, "(unknown)");
	if (on_disk) {
		disk = disk_of(perfetto, name);
		if (disk < 0)
			return (int)disk;
	}
	return put_slice(perfetto, row, disk, name);
}

/* ---- the whole ---- */

static int end(struct export_sink *sink)
{
	struct perfetto *perfetto = (struct perfetto *)sink;
	int r = write_ends(perfetto, UINT64_MAX);

	if (!r && !perfetto->number) {
		snprintf(sink->message, sizeof(sink->message), "it has no rows");
		return -ENODATA;
	}
	return r ? r : pass_window(perfetto, perfetto->window + 2);
}

static void tell(const struct export_sink *sink, struct json_object *document)
{
	const struct perfetto *perfetto = (const struct perfetto *)sink;
	struct json_object *operations = json_object_new_object();

	for (int stream = 0; stream < IOTR_STREAM_COUNT; stream++) {
		struct json_object *one;

		if (!perfetto->rows[stream])
			continue;
		one = json_object_new_object();
		json_object_object_add(one, "rows", json_object_new_uint64(perfetto->rows[stream]));
		json_object_object_add(one, "bytes", json_object_new_uint64(perfetto->bytes[stream]));
		json_object_object_add(operations, iotr_schemas[stream].flag, one);
	}
	json_object_object_add(document, "operations", operations);
	json_object_object_add(document, "late", json_object_new_uint64(perfetto->late));
	json_object_object_add(document, "left_out", json_object_new_object());
}

static void perfetto_free(struct export_sink *sink)
{
	struct perfetto *perfetto = (struct perfetto *)sink;

	perfetto_packets_done(&perfetto->packets);
	perfetto_tracks_done(&perfetto->tracks);
	export_names_done(&perfetto->disk_names);
	pending_done(&perfetto->pending);
	free(perfetto);
}

struct export_sink *perfetto_new(const struct export_target *target)
{
	struct perfetto *perfetto = calloc(1, sizeof(*perfetto));

	if (!perfetto)
		return NULL;
	perfetto->sink = (struct export_sink){ .row = put_row, .end = end, .tell = tell, .free = perfetto_free };
	perfetto->packets.stream = target->stream;
	return &perfetto->sink;
}
