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

/* Offsets in bytes of the members that are read of a map's value. */
struct layout {
	enum iotr_stream stream;
	enum kind kind;
	uint32_t size;
	int sessions; /* of an event in the value, of KIND_RUNS in a run */
	int asked, runs, run_size, run_count, count; /* KIND_RUNS; run_count is an offset in a run */
};

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

static void value_add(struct in_flight *sum, const struct layout *layout, const char *value)
{
	if (layout->kind == KIND_RUNS)
		runs_add(sum, layout, value);
	else
		slots_add(sum, layout->stream, word_at(value, layout->sessions), layout->kind == KIND_EVENT);
}

static int table_add(struct in_flight *sum, const struct layout *layout, int map)
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
			value_add(sum, layout, values + (size_t)i * layout->size);
	}
	return 0;
}

static int call_add(const struct slot *slot, void *sum)
{
	if (slot->stream < IOTR_STREAM_COUNT)
		slots_add(sum, slot->stream, slot->sessions, true);
	return 0;
}

/* System calls, which are in no map of their own. */
static int calls_add(struct probes *probes, struct in_flight *sum)
{
	int map = probes_map(probes, SHARED_MAP);
	int r = shared_map_slots(map, offsetof(struct iotr_shared, slots), IOTR_SLOTS, call_add, sum);

	return r < 0 ? r : shared_map_slots(map, offsetof(struct iotr_shared, plugged), IOTR_PLUGGED, call_add, sum);
}

/* Of what could not be counted, anything may be in flight. */
static void uncounted(struct in_flight *sum, const char *map, int error)
{
	log_warning("cannot read BPF map %s: operations in flight are not counted, and slots with earlier filters "
		    "stay taken: %s", map, strerror(error));
	sum->slots = ~0ULL;
}

void in_flight_count(struct probes *probes, struct in_flight *ret)
{
	int r;

	*ret = (struct in_flight){ 0 };
	probes_quiesce(probes);
	r = calls_add(probes, ret);
	if (r < 0)
		uncounted(ret, SHARED_MAP, -r);
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		struct layout layout = { .stream = tables[i].stream, .kind = tables[i].kind };
		const struct bpf_object *object;
		const struct bpf_map *map = layout.kind == KIND_HELP ? NULL : map_owner(probes, tables[i].map, &object);

		r = map ? layout_find(object, map, tables[i].sessions, &layout) : 0;
		if (map && r >= 0)
			r = table_add(ret, &layout, bpf_map__fd(map));
		if (r < 0)
			uncounted(ret, tables[i].map, -r);
	}
}
