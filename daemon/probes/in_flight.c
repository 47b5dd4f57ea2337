// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/in_flight.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "log.h"
#include "probes/map_name.h"
#include "probes/member.h"
#include "probes/probes_private.h"
#include "probes/shared_map.h"

#define BATCH	  512 /* entries read at once; more than any bucket of a hash map has */
#define KEY_MAX	  16  /* bytes of the largest key of these maps */

/* See IOTR_IN_FLIGHT in streams.def. */
enum kind {
	KIND_EVENT,
	KIND_MARK,
	KIND_RUNS,
	KIND_HELP,
};

/* Maps of events in flight. BTF describes the types of their values. */
static const struct {
	const char *map;
	enum iotr_stream stream;
	enum kind kind;
	const char *sessions; /* member of the value */
} tables[] = {
#define TABLE(map, stream, group, kind, sessions) { #map, stream, KIND_##kind, #sessions },
	IOTR_IN_FLIGHT(TABLE)
};

/* Who is called for events, of which slots; `found` is NULL where they are only counted. */
struct reader {
	struct in_flight sum;
	const struct iotr_control *page;
	uint64_t slots;
	in_flight_found found;
	void *userdata;
};

/* Offsets in bytes of the members that are read of a map's value; negative: it has no such member. */
struct layout {
	enum iotr_stream stream;
	enum kind kind;
	uint32_t size;
	int sessions; /* of an event in the value, of KIND_RUNS in a run */
	int asked, runs, run_size, run_count, count; /* KIND_RUNS; run_count is an offset in a run */
	int start, queued, operation, operation_size, fd, device, sector, pid, tid, command; /* of an event */
};

static void layout_member(const struct btf *btf, uint32_t type, const char *name, int *ret)
{
	*ret = member_offset(btf, type, name, NULL);
}

static void layout_actor(const struct btf *btf, uint32_t type, struct layout *layout)
{
	uint32_t holder = type, actor;
	int base = 0, at = member_offset(btf, type, "actor", &actor);

	layout->pid = layout->tid = layout->command = -1;
	if (at < 0) { /* in a struct of its own */
		base = member_offset(btf, type, "cause", &holder);
		at = base < 0 ? base : member_offset(btf, holder, "actor", &actor);
	}
	if (at < 0)
		return;
	layout->pid = base + at + member_offset(btf, actor, "pid", NULL);
	layout->tid = base + at + member_offset(btf, actor, "tid", NULL);
	layout->command = base + at + member_offset(btf, actor, "command", NULL);
}

/* What is known of an event besides its sessions. */
static void layout_event(const struct btf *btf, uint32_t type, struct layout *layout)
{
	layout_member(btf, type, "start_ns", &layout->start);
	if (layout->start < 0)
		layout_member(btf, type, "issue_ns", &layout->start);
	layout_member(btf, type, "queued_ns", &layout->queued);
	layout_member(btf, type, layout->stream == IOTR_IOURING ? "opcode" : "operation", &layout->operation);
	layout->operation_size = layout->stream == IOTR_IOURING ? 1 : 4;
	layout_member(btf, type, "fd", &layout->fd);
	layout_member(btf, type, "device", &layout->device);
	layout_member(btf, type, "sector", &layout->sector);
	layout_actor(btf, type, layout);
}

static int layout_runs(const struct btf *btf, uint32_t type, struct layout *layout)
{
	const struct btf_type *array;
	uint32_t run, runs;

	layout->asked = member_offset(btf, type, "asked", &run);
	layout->runs = member_offset(btf, type, "runs", &runs);
	layout->count = member_offset(btf, type, "count", NULL);
	if (layout->asked < 0 || layout->runs < 0 || layout->count < 0)
		return -ENOENT;
	array = btf__type_by_id(btf, runs);
	if (!array || !btf_is_array(array))
		return -ENOENT;
	layout->run_size = (int)btf__resolve_size(btf, run);
	layout->sessions = member_offset(btf, run, "sessions", NULL);
	layout->run_count = member_offset(btf, run, "count", NULL);
	return layout->sessions < 0 || layout->run_count < 0 ? -ENOENT : layout->run_size;
}

static int layout_find(const struct bpf_object *object, const struct bpf_map *map, const char *sessions,
		       struct layout *layout)
{
	const struct btf *btf = bpf_object__btf(object);
	uint32_t type = member_map_value(btf, bpf_map__name(map));

	layout->size = (bpf_map__value_size(map) + 7) / 8 * 8; /* the stride at which the kernel copies values */
	if (!type || bpf_map__key_size(map) > KEY_MAX)
		return -ENOENT;
	if (layout->kind == KIND_RUNS)
		return layout_runs(btf, type, layout);
	layout->sessions = member_offset(btf, type, sessions, NULL);
	layout_event(btf, type, layout);
	return layout->sessions;
}

static uint64_t word_at(const char *value, int offset)
{
	uint64_t word;

	memcpy(&word, value + offset, sizeof(word));
	return word;
}

static void slots_add(struct in_flight *sum, enum iotr_stream stream, uint64_t slots, bool counts)
{
	sum->slots |= slots;
	for (; counts && slots; slots &= slots - 1)
		sum->count[stream][__builtin_ctzll(slots)]++;
}

static uint64_t number_at(const char *value, int offset, size_t size)
{
	uint64_t number = 0;

	if (offset >= 0)
		memcpy(&number, value + offset, size);
	return number;
}

/* An event that began before the session in its slot did is one whose end no hook saw, of a session before. */
static void judge(const struct reader *reader, uint64_t sessions, const struct in_flight_event *event)
{
	for (sessions &= reader->slots; sessions; sessions &= sessions - 1)
		if ((int64_t)event->since_ns >= (int64_t)reader->page->begun_ns[__builtin_ctzll(sessions)]) {
			reader->found(event, reader->userdata);
			return;
		}
}

static void event_found(const struct reader *reader, const struct layout *layout, const char *value, uint64_t sessions)
{
	struct in_flight_event event = {
		.stream = layout->stream,
		.operation = layout->operation < 0 ? IN_FLIGHT_NO_OPERATION :
			     (uint32_t)number_at(value, layout->operation, (size_t)layout->operation_size),
		.since_ns = number_at(value, layout->queued, sizeof(uint64_t)) ?:
			    number_at(value, layout->start, sizeof(uint64_t)),
		.pid = (uint32_t)number_at(value, layout->pid, sizeof(uint32_t)),
		.tid = (uint32_t)number_at(value, layout->tid, sizeof(uint32_t)),
		.fd = layout->fd < 0 ? IN_FLIGHT_NO_FD : (int32_t)number_at(value, layout->fd, sizeof(int32_t)),
		.device = (uint32_t)number_at(value, layout->device, sizeof(uint32_t)),
		.sector = number_at(value, layout->sector, sizeof(uint64_t)),
	};

	if (layout->command >= 0)
		memcpy(event.command, value + layout->command, sizeof(event.command) - 1);
	judge(reader, sessions, &event);
}

static void run_add(struct in_flight *sum, const struct layout *layout, const char *run)
{
	if (word_at(run, layout->run_count))
		slots_add(sum, layout->stream, word_at(run, layout->sessions), true);
}

static void runs_add(struct in_flight *sum, const struct layout *layout, const char *value)
{
	uint32_t count;

	memcpy(&count, value + layout->count, sizeof(count));
	run_add(sum, layout, value + layout->asked);
	for (uint32_t i = 0; i < count && layout->runs + (i + 1) * layout->run_size <= layout->size; i++)
		run_add(sum, layout, value + layout->runs + i * layout->run_size);
}

static void value_add(struct reader *reader, const struct layout *layout, const char *value)
{
	uint64_t sessions;

	if (layout->kind == KIND_RUNS) {
		runs_add(&reader->sum, layout, value);
		return;
	}
	sessions = word_at(value, layout->sessions);
	slots_add(&reader->sum, layout->stream, sessions, layout->kind == KIND_EVENT);
	if (reader->found && layout->kind == KIND_EVENT && sessions & reader->slots)
		event_found(reader, layout, value, sessions);
}

static int table_add(struct reader *reader, const struct layout *layout, int map)
{
	_cleanup_free_ char *values = malloc((size_t)layout->size * BATCH);
	_cleanup_free_ char *keys = malloc((size_t)KEY_MAX * BATCH);
	char token[KEY_MAX];
	bool begun = false;
	uint32_t count;
	int r = 0;

	if (!values || !keys)
		return -ENOMEM;
	while (r == 0) {
		count = BATCH;
		r = bpf_map_lookup_batch(map, begun ? token : NULL, token, keys, values, &count, NULL);
		if (r < 0 && r != -ENOENT) /* -ENOENT: the last batch, which has entries */
			return r;
		begun = true;
		for (uint32_t i = 0; i < count; i++)
			value_add(reader, layout, values + (size_t)i * layout->size);
	}
	return 0;
}

static void call_found(const struct reader *reader, const struct slot *slot)
{
	const bool file = slot->stream == IOTR_VFS && slot->has_fd;
	const struct in_flight_event event = {
		.stream = slot->stream,
		.operation = slot->operation,
		.since_ns = slot->start_ns,
		.task = slot->task,
		.fd = file ? slot->fd : IN_FLIGHT_NO_FD,
	};

	judge(reader, slot->sessions, &event);
}

static int call_add(const struct slot *slot, void *userdata)
{
	struct reader *reader = userdata;

	if (slot->stream >= IOTR_STREAM_COUNT)
		return 0;
	slots_add(&reader->sum, slot->stream, slot->sessions, true);
	if (reader->found && slot->sessions & reader->slots)
		call_found(reader, slot);
	return 0;
}

/* System calls, which are in no map of their own. */
static int calls_add(struct probes *probes, struct reader *reader)
{
	int map = probes_map(probes, SHARED_MAP);
	int r = shared_map_slots(map, offsetof(struct iotr_shared, slots), IOTR_SLOTS, call_add, reader);

	return r < 0 ? r : shared_map_slots(map, offsetof(struct iotr_shared, plugged), IOTR_PLUGGED, call_add, reader);
}

/* Of what could not be counted, anything may be in flight. */
static void uncounted(struct in_flight *sum, const char *map, int error)
{
	log_warning("cannot read BPF map %s: operations in flight are not counted, and slots with earlier filters "
		    "stay taken: %s", map, strerror(error));
	sum->slots = ~0ULL;
}

static void read_all(struct probes *probes, struct reader *reader)
{
	int r;

	probes_quiesce(probes);
	r = calls_add(probes, reader);
	if (r < 0)
		uncounted(&reader->sum, SHARED_MAP, -r);
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		struct layout layout = { .stream = tables[i].stream, .kind = tables[i].kind };
		const struct bpf_object *object;
		const struct bpf_map *map = layout.kind == KIND_HELP ? NULL : map_owner(probes, tables[i].map, &object);

		r = map ? layout_find(object, map, tables[i].sessions, &layout) : 0;
		if (map && r >= 0)
			r = table_add(reader, &layout, bpf_map__fd(map));
		if (r < 0)
			uncounted(&reader->sum, tables[i].map, -r);
	}
}

void in_flight_count(struct probes *probes, struct in_flight *ret)
{
	struct reader reader = { 0 };

	read_all(probes, &reader);
	*ret = reader.sum;
}

void in_flight_each(struct probes *probes, uint64_t slots, in_flight_found found, void *userdata)
{
	struct reader reader = { .page = probes_page(probes), .slots = slots, .found = found, .userdata = userdata };

	read_all(probes, &reader);
}
