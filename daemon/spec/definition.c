// SPDX-License-Identifier: GPL-2.0-or-later
#include "definition.h"

#include <stdio.h>

#include "cleanup.h"
#include "filter_fit.h"
#include "json_add.h"
#include "schema.h"

static struct json_object *u32_array(const uint32_t *values, size_t count)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < count; i++)
		json_object_array_add(array, json_object_new_uint64(values[i]));
	return array;
}

static struct json_object *device_array(const uint32_t *devices, size_t count)
{
	struct json_object *array = json_object_new_array();
	char text[32];

	for (size_t i = 0; i < count; i++) {
		snprintf(text, sizeof(text), "%u:%u", devices[i] >> 20, devices[i] & 0xfffff);
		json_object_array_add(array, json_object_new_string(text));
	}
	return array;
}

static struct json_object *operation_array(const struct iotr_session_spec *spec)
{
	struct json_object *array = json_object_new_array();
	char text[64];

	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		for (size_t i = 0; i < iotr_schemas[stream].operation_count; i++) {
			if (!iotr_operations_have(&spec->operations[stream], i))
				continue;
			snprintf(text, sizeof(text), "%s.%s", iotr_schemas[stream].flag,
				 iotr_schemas[stream].operations[i]);
			json_object_array_add(array, json_object_new_string(text));
		}
	return array;
}

/* An array of strings from a list whose elements are `size` bytes each. */
static struct json_object *text_array(const void *texts, size_t size, size_t count)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < count; i++)
		json_object_array_add(array, json_object_new_string((const char *)texts + i * size));
	return array;
}

static void add_sample(struct json_object *filters, const struct iotr_session_spec *spec)
{
	struct json_object *sample = json_object_new_object();

	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		if (spec->sample[stream])
			add_u64(sample, iotr_schemas[stream].flag, spec->sample[stream]);
	if (json_object_object_length(sample))
		json_object_object_add(filters, "sample", sample);
	else
		json_object_put(sample);
}

static void add_array(struct json_object *object, const char *key, struct json_object *array)
{
	if (json_object_array_length(array))
		json_object_object_add(object, key, array);
	else
		json_object_put(array);
}

/* How a filter of each kind is added. Of the devices, those that were found for the user's are not shown. */
#define ADD_NUMBERS(name, count) add_array(filters, #name, u32_array(spec->name, spec->count));
#define ADD_TEXTS(name, count)	 add_array(filters, #name, text_array(spec->name, sizeof(*spec->name), spec->count));
#define ADD_DEVICES(name, count) add_array(filters, #name, device_array(spec->name, spec->count - spec->device_found));
#define ADD_OPERATIONS(name, count) add_array(filters, #name, operation_array(spec));
#define ADD_SAMPLE(name, count)	    add_sample(filters, spec);
#define ADD_FLAG(name, count)                                                                                          \
	if (spec->name)                                                                                                \
		add_flag(filters, #name, true);
#define ADD_COUNT(name, count)                                                                                         \
	if (spec->name)                                                                                                \
		add_u64(filters, #name, spec->name);
#define ADD_FILTER(id, name, kind, type, count, ...) ADD_##kind(name, count)

struct json_object *definition_filters(const struct iotr_session_spec *spec)
{
	struct json_object *filters = json_object_new_object();

	IOTR_FILTERS(ADD_FILTER)
	return filters;
}

/* Adds the limits that are set, rotation in any case (0: never), and the format. */
void definition_add_limits(struct json_object *object, const struct iotr_session_spec *spec)
{
	const struct {
		const char *name;
		uint64_t value;
		bool always;
	} limits[] = {
		{ "duration_ns", spec->duration_ns, false },
		{ "max_size", spec->max_size, false },
		{ "max_events", spec->max_events, false },
		{ "rotate_size", spec->rotate_size, true },
		{ "rotate_interval_ns", spec->rotate_interval_ns, true },
		{ "queue_size", spec->queue_size, false },
	};

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		if (limits[i].value || limits[i].always)
			add_u64(object, limits[i].name, limits[i].value);
	add_string(object, "format", iotr_format_names[spec->format]);
}

void definition_add_storage(struct json_object *object, const struct iotr_session_spec *spec)
{
	add_string(object, "compress", spec->compress ? "gzip" : "none");
	if (spec->keep_segments)
		add_u64(object, "keep_segments", spec->keep_segments);
	if (spec->keep_size)
		add_u64(object, "keep_size", spec->keep_size);
}

static void add_snapshots(struct json_object *definition, const struct iotr_snapshots *snapshots)
{
	add_flag(definition, "snapshot_system", snapshots->system);
	add_u64(definition, "snapshot_process_ns", snapshots->process_ns);
	add_u64(definition, "snapshot_filesystem_ns", snapshots->filesystem_ns);
	add_string(definition, "snapshot_root", snapshots->root);
	add_u64(definition, "snapshot_depth", snapshots->depth);
}

static void add_triggers(struct json_object *definition, const struct iotr_session_spec *spec)
{
	add_array(definition, "triggers", text_array(spec->triggers[0].text, sizeof(spec->triggers[0]), spec->trigger_count));
	add_array(definition, "stop_on", text_array(spec->stops[0].text, sizeof(spec->stops[0]), spec->stop_count));
	if (spec->hold_off_ns)
		add_u64(definition, "hold_off_ns", spec->hold_off_ns);
}

struct json_object *definition_streams(uint32_t streams)
{
	struct json_object *array = json_object_new_array();

	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		if (streams >> stream & 1)
			json_object_array_add(array, json_object_new_string(iotr_schemas[stream].flag));
	return array;
}

struct json_object *definition_describe(const struct iotr_session_spec *spec)
{
	struct json_object *definition = json_object_new_object();

	add_string(definition, "name", spec->name);
	json_object_object_add(definition, "streams", definition_streams(spec->streams));
	json_object_object_add(definition, "filters", definition_filters(spec));
	if (filter_unseen(spec))
		add_string(definition, "unseen", filter_unseen(spec));
	definition_add_limits(definition, spec);
	if (spec->anonymize)
		add_flag(definition, "anonymize", true);
	if (spec->anonymize_host)
		add_flag(definition, "anonymize_host", true);
	add_triggers(definition, spec);
	if (spec->flight_recorder) {
		add_u64(definition, "flight_recorder", spec->flight_recorder);
		return definition;
	}
	definition_add_storage(definition, spec);
	add_snapshots(definition, &spec->snapshots);
	return definition;
}

/* ---- notes ---- */

struct json_object *definition_note(const struct iotr_session_spec *spec)
{
	struct json_object *definition = definition_describe(spec);

	json_object_object_del(definition, "unseen"); /* it follows from the rest */
	if (spec->output[0])
		add_string(definition, "output", spec->output);
	if (spec->declared)
		add_string(definition, "declared", spec->declared);
	return definition;
}

void definition_flatten(struct json_object *definition)
{
	_cleanup_json_ struct json_object *filters =
		json_object_get(json_object_object_get(definition, "filters"));

	if (!json_object_is_type(filters, json_type_object))
		return;
	json_object_object_del(definition, "filters");
	json_object_object_foreach(filters, key, value)
		json_object_object_add(definition, key, json_object_get(value));
}
