// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/perfetto_packets.h"

#include <errno.h>
#include <string.h>

#include "export/perfetto.h"
#include "output/new_file.h"

/* protos/perfetto/trace of Perfetto: numbers of fields, and values of enums. */
enum { TRACE_PACKET = 1 };
enum {
	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE_ID = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED_DATA = 12,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_TRACK_DESCRIPTOR = 60,
};
enum { FLAG_STATE_CLEARED = 1, FLAG_NEEDS_STATE = 2 };
enum { SNAPSHOT_CLOCKS = 1, SNAPSHOT_PRIMARY_CLOCK = 2, CLOCK_ID = 1, CLOCK_TIMESTAMP = 2 };
enum { CLOCK_IS_REALTIME = 1, CLOCK_IS_MONOTONIC = 3, CLOCK_IS_BOOTTIME = 6 };
enum {
	EVENT_CATEGORY_IIDS = 3,
	EVENT_DEBUG_ANNOTATIONS = 4,
	EVENT_TYPE = 9,
	EVENT_NAME_IID = 10,
	EVENT_TRACK_UUID = 11,
	EVENT_COUNTER_VALUE = 30,
	EVENT_FLOW_IDS = 47,
};
enum { TYPE_SLICE_BEGIN = 1, TYPE_SLICE_END = 2, TYPE_COUNTER = 4 };
enum { ANNOTATION_NAME_IID = 1, ANNOTATION_UINT_VALUE = 3, ANNOTATION_STRING_VALUE_IID = 17 };
enum {
	INTERNED_EVENT_CATEGORIES = 1,
	INTERNED_EVENT_NAMES = 2,
	INTERNED_DEBUG_ANNOTATION_NAMES = 3,
	INTERNED_DEBUG_ANNOTATION_STRING_VALUES = 29,
};
enum { ENTRY_IID = 1, ENTRY_NAME = 2 };
enum {
	DESCRIPTOR_UUID = 1,
	DESCRIPTOR_NAME = 2,
	DESCRIPTOR_PROCESS = 3,
	DESCRIPTOR_THREAD = 4,
	DESCRIPTOR_PARENT_UUID = 5,
	DESCRIPTOR_COUNTER = 8,
};
enum { PROCESS_PID = 1, PROCESS_NAME = 6 };
enum { THREAD_PID = 1, THREAD_TID = 2, THREAD_NAME = 5 };
enum { COUNTER_UNIT = 3 };

enum sequence { SEQUENCE_EVENTS = 1, SEQUENCE_LATE };

/* What is told of an operation beside its name. */
enum annotation { ANNOTATION_FILE, ANNOTATION_OFFSET, ANNOTATION_ASKED, ANNOTATION_DONE, ANNOTATION_FAILED, ANNOTATION_PID,
		  ANNOTATION_COUNT };

static const char *const annotations[ANNOTATION_COUNT] = { "file", "offset", "bytes asked for", "bytes done", "failed", "pid" };

/* ---- packets ---- */

static void begin_packet(struct perfetto_packets *packets, enum sequence sequence)
{
	protobuf_empty(&packets->packet);
	protobuf_number(&packets->packet, PACKET_SEQUENCE_ID, sequence);
}

static int end_packet(struct perfetto_packets *packets)
{
	/* A member of the whole: its head stands before it. */
	struct protobuf *head = &packets->entry;

	protobuf_empty(head);
	protobuf_bytes(head, TRACE_PACKET, packets->packet.bytes, packets->packet.length);
	if (packets->packet.cut || head->cut)
		return -EMSGSIZE; /* a member that had no room: names may be missing that others refer to */
	fwrite(head->bytes, 1, head->length, packets->stream);
	return new_file_error(packets->stream);
}

static void put_clock(struct perfetto_packets *packets, struct protobuf *snapshot, uint64_t id, uint64_t ns)
{
	protobuf_empty(&packets->entry);
	protobuf_number(&packets->entry, CLOCK_ID, id);
	protobuf_number(&packets->entry, CLOCK_TIMESTAMP, ns);
	protobuf_message(snapshot, SNAPSHOT_CLOCKS, &packets->entry);
}

int perfetto_packets_clock(struct perfetto_packets *packets, uint64_t ns, uint64_t real_ns)
{
	struct protobuf *snapshot = &packets->event;

	begin_packet(packets, SEQUENCE_EVENTS);
	protobuf_empty(snapshot);
	put_clock(packets, snapshot, CLOCK_IS_MONOTONIC, ns);
	/* The clock of packets that name none. Both differ by the time that the machine slept, which no row tells. */
	put_clock(packets, snapshot, CLOCK_IS_BOOTTIME, ns);
	if (real_ns)
		put_clock(packets, snapshot, CLOCK_IS_REALTIME, real_ns);
	protobuf_number(snapshot, SNAPSHOT_PRIMARY_CLOCK, CLOCK_IS_MONOTONIC);
	protobuf_message(&packets->packet, PACKET_CLOCK_SNAPSHOT, snapshot);
	return end_packet(packets);
}

/* ---- tracks ---- */

/* `kind`: what the track is of, in packets->event, or no field. */
static int put_descriptor(struct perfetto_packets *packets, uint64_t uuid, uint64_t parent, const char *name, uint32_t kind)
{
	struct protobuf *descriptor = &packets->annotation;

	protobuf_empty(descriptor);
	protobuf_number(descriptor, DESCRIPTOR_UUID, uuid);
	if (parent)
		protobuf_number(descriptor, DESCRIPTOR_PARENT_UUID, parent);
	if (name)
		protobuf_text(descriptor, DESCRIPTOR_NAME, name);
	if (kind)
		protobuf_message(descriptor, kind, &packets->event);
	begin_packet(packets, SEQUENCE_EVENTS);
	protobuf_message(&packets->packet, PACKET_TRACK_DESCRIPTOR, descriptor);
	return end_packet(packets);
}

/* Perfetto has 31 bits for it, as the kernel. */
static uint64_t id_of(uint64_t number)
{
	return number & INT32_MAX;
}

int perfetto_packets_process(struct perfetto_packets *packets, uint64_t uuid, uint64_t pid, const char *name)
{
	protobuf_empty(&packets->event);
	protobuf_number(&packets->event, PROCESS_PID, id_of(pid));
	protobuf_text(&packets->event, PROCESS_NAME, name);
	return put_descriptor(packets, uuid, 0, NULL, DESCRIPTOR_PROCESS);
}

int perfetto_packets_thread(struct perfetto_packets *packets, uint64_t uuid, uint64_t process, uint64_t pid, uint64_t tid,
			    const char *name)
{
	protobuf_empty(&packets->event);
	protobuf_number(&packets->event, THREAD_PID, id_of(pid));
	protobuf_number(&packets->event, THREAD_TID, id_of(tid));
	protobuf_text(&packets->event, THREAD_NAME, name);
	return put_descriptor(packets, uuid, process, NULL, DESCRIPTOR_THREAD);
}

int perfetto_packets_track(struct perfetto_packets *packets, uint64_t uuid, uint64_t parent, const char *name)
{
	return put_descriptor(packets, uuid, parent, name, 0);
}

int perfetto_packets_counter(struct perfetto_packets *packets, uint64_t uuid, uint64_t parent, const char *name,
			     enum perfetto_unit unit)
{
	protobuf_empty(&packets->event);
	protobuf_number(&packets->event, COUNTER_UNIT, unit);
	return put_descriptor(packets, uuid, parent, name, DESCRIPTOR_COUNTER);
}

/* ---- interned names ---- */

static void intern(struct perfetto_packets *packets, uint32_t field, uint64_t number, const char *text)
{
	protobuf_empty(&packets->entry);
	protobuf_number(&packets->entry, ENTRY_IID, number + 1);
	protobuf_text(&packets->entry, ENTRY_NAME, text);
	protobuf_message(&packets->interned, field, &packets->entry);
}

/* All names are forgotten, and those that never change are told. */
static int clear_state(struct perfetto_packets *packets)
{
	packets->forgotten += packets->operations.count + packets->files.count;
	export_names_done(&packets->operations);
	export_names_done(&packets->files);
	packets->name_bytes = 0;
	packets->begun = true;
	protobuf_empty(&packets->interned);
	for (uint64_t i = 0; i < IOTR_STREAM_COUNT; i++)
		intern(packets, INTERNED_EVENT_CATEGORIES, i, iotr_schemas[i].flag);
	for (uint64_t i = 0; i < ANNOTATION_COUNT; i++)
		intern(packets, INTERNED_DEBUG_ANNOTATION_NAMES, i, annotations[i]);
	begin_packet(packets, SEQUENCE_EVENTS);
	protobuf_number(&packets->packet, PACKET_SEQUENCE_FLAGS, FLAG_STATE_CLEARED | FLAG_NEEDS_STATE);
	protobuf_message(&packets->packet, PACKET_INTERNED_DATA, &packets->interned);
	return end_packet(packets);
}

static bool is_full(const struct perfetto_packets *packets)
{
	return packets->files.count >= PERFETTO_NAMES_MAX || packets->operations.count >= PERFETTO_NAMES_MAX ||
	       packets->name_bytes >= PERFETTO_NAME_BYTES_MAX;
}

/* The number of a name, which is added to what this packet tells when it is new; or -ENOMEM. */
static int64_t number_of(struct perfetto_packets *packets, struct export_names *names, uint32_t field, struct trace_text text)
{
	size_t known = names->count;
	char valid[EXPORT_TEXT_MAX + 1];
	size_t length = export_text(text, valid);
	int64_t number = export_names_number(names, (struct trace_text){ valid, length }, PERFETTO_NAMES_MAX + 1);

	if (number < 0)
		return number;
	number += (int64_t)packets->forgotten;
	if (names->count > known) {
		packets->name_bytes += length;
		intern(packets, field, (uint64_t)number, valid);
	}
	return number;
}

/* ---- events ---- */

static void begin_event(struct perfetto_packets *packets, uint64_t type, uint64_t uuid)
{
	protobuf_empty(&packets->event);
	protobuf_number(&packets->event, EVENT_TYPE, type);
	protobuf_number(&packets->event, EVENT_TRACK_UUID, uuid);
}

static int end_event(struct perfetto_packets *packets, enum sequence sequence, uint64_t ns, bool named)
{
	begin_packet(packets, sequence);
	protobuf_number(&packets->packet, PACKET_TIMESTAMP, ns);
	if (named)
		protobuf_number(&packets->packet, PACKET_SEQUENCE_FLAGS, FLAG_NEEDS_STATE);
	if (named && packets->interned.length)
		protobuf_message(&packets->packet, PACKET_INTERNED_DATA, &packets->interned);
	protobuf_message(&packets->packet, PACKET_TRACK_EVENT, &packets->event);
	return end_packet(packets);
}

static void annotate(struct perfetto_packets *packets, enum annotation name, uint32_t field, uint64_t value)
{
	protobuf_empty(&packets->annotation);
	protobuf_number(&packets->annotation, ANNOTATION_NAME_IID, (uint64_t)name + 1);
	protobuf_number(&packets->annotation, field, value);
	protobuf_message(&packets->event, EVENT_DEBUG_ANNOTATIONS, &packets->annotation);
}

static void annotate_numbers(struct perfetto_packets *packets, const struct export_row *row)
{
	if (row->has_offset)
		annotate(packets, ANNOTATION_OFFSET, ANNOTATION_UINT_VALUE, row->offset);
	if (row->asked)
		annotate(packets, ANNOTATION_ASKED, ANNOTATION_UINT_VALUE, row->asked);
	if (row->done && !row->failed)
		annotate(packets, ANNOTATION_DONE, ANNOTATION_UINT_VALUE, row->done);
	if (row->failed)
		annotate(packets, ANNOTATION_FAILED, ANNOTATION_UINT_VALUE, 1);
	if (row->stream == IOTR_BLOCK)
		annotate(packets, ANNOTATION_PID, ANNOTATION_UINT_VALUE, row->pid);
}

int perfetto_packets_begin(struct perfetto_packets *packets, uint64_t uuid, uint64_t ns, const struct export_row *row,
			   uint64_t flow)
{
	int64_t operation, file = 0;
	int r = packets->begun && !is_full(packets) ? 0 : clear_state(packets);

	if (r < 0)
		return r;
	protobuf_empty(&packets->interned);
	operation = number_of(packets, &packets->operations, INTERNED_EVENT_NAMES, row->operation);
	if (row->file.length)
		file = number_of(packets, &packets->files, INTERNED_DEBUG_ANNOTATION_STRING_VALUES, row->file);
	if (operation < 0 || file < 0)
		return -ENOMEM;
	begin_event(packets, TYPE_SLICE_BEGIN, uuid);
	protobuf_number(&packets->event, EVENT_CATEGORY_IIDS, (uint64_t)row->stream + 1);
	protobuf_number(&packets->event, EVENT_NAME_IID, (uint64_t)operation + 1);
	if (flow)
		protobuf_fixed64(&packets->event, EVENT_FLOW_IDS, flow);
	if (row->file.length)
		annotate(packets, ANNOTATION_FILE, ANNOTATION_STRING_VALUE_IID, (uint64_t)file + 1);
	annotate_numbers(packets, row);
	return end_event(packets, SEQUENCE_EVENTS, ns, true);
}

int perfetto_packets_end(struct perfetto_packets *packets, uint64_t uuid, uint64_t ns)
{
	begin_event(packets, TYPE_SLICE_END, uuid);
	return end_event(packets, SEQUENCE_EVENTS, ns, false);
}

static int put_count(struct perfetto_packets *packets, enum sequence sequence, uint64_t uuid, uint64_t ns, uint64_t value)
{
	begin_event(packets, TYPE_COUNTER, uuid);
	protobuf_number(&packets->event, EVENT_COUNTER_VALUE, value < INT64_MAX ? value : INT64_MAX);
	return end_event(packets, sequence, ns, false);
}

int perfetto_packets_count(struct perfetto_packets *packets, uint64_t uuid, uint64_t ns, uint64_t value)
{
	return put_count(packets, SEQUENCE_EVENTS, uuid, ns, value);
}

int perfetto_packets_count_late(struct perfetto_packets *packets, uint64_t uuid, uint64_t ns, uint64_t value)
{
	return put_count(packets, SEQUENCE_LATE, uuid, ns, value);
}

void perfetto_packets_done(struct perfetto_packets *packets)
{
	export_names_done(&packets->operations);
	export_names_done(&packets->files);
}
