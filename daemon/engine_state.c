// SPDX-License-Identifier: GPL-2.0-or-later
/* What the daemon tells of itself: what it costs, whether its threads move, sums over its sessions, and its streams. */
#include <stdio.h>

#include "engine_private.h"
#include "json_add.h"
#include "pipeline/clocks.h"
#include "probes/loading.h"
#include "probes/own.h"
#include "schema.h"
#include "session/missing.h"

int engine_cost(struct engine *engine, struct json_object **ret)
{
	struct json_object *cost = json_object_new_object();

	rates_describe_daemon(&engine->tick.daemon, cost);
	json_object_object_add(cost, "bpf", bpf_cost_describe(engine->context.bpf_cost));
	*ret = cost;
	return 0;
}

struct json_object *engine_own_describe(const struct engine *engine)
{
	struct json_object *own = json_object_new_object();
	struct own_counts counts;

	own_count(engine->context.probes, &counts);
	add_u64(own, "processes", counts.processes);
	add_u64(own, "operations", counts.operations);
	return own;
}

static uint64_t stuck_session(struct session *session, uint64_t now)
{
	const struct row_sink_ops *ops = session->sink->ops;
	uint64_t turns = 0;
	bool has_to = session->state == SESSION_RUNNING && ops->turns && ops->turns(session->sink, &turns);

	return vitals_look(&session->vitals, has_to, turns, now);
}

uint64_t engine_stuck(struct engine *engine, char *what, size_t size)
{
	uint64_t now = clocks_mono_ns(), turns = 0, longest;
	struct session *session;
	bool has_to = consumer_turns(engine->context.consumer, &turns);

	longest = vitals_look(&engine->consumer, has_to, turns, now);
	snprintf(what, size, "the thread that takes up rows");
	for (size_t i = 0; (session = registry_at(engine->registry, i)); i++) {
		uint64_t stuck = stuck_session(session, now);

		if (stuck <= longest)
			continue;
		longest = stuck;
		snprintf(what, size, "the writer of session %s", session->spec.name);
	}
	return longest;
}

static struct json_object *storage_describe(struct storage *storage)
{
	struct json_object *object = json_object_new_object();
	struct storage_limits limits;
	uint64_t used;

	storage_usage(storage, &used, &limits);
	add_u64(object, "used", used);
	add_u64(object, "max_use", limits.max_use);
	add_u64(object, "keep_free", limits.keep_free);
	return object;
}

int engine_totals(struct engine *engine, struct json_object **ret)
{
	const struct session_context *context = &engine->context;
	struct json_object *totals = json_object_new_object();

	add_string(totals, "level", probes_level_name(probes_level(context->probes)));
	add_flag(totals, "loaded", loading_done(context->probes, LOADING_ALL));
	json_object_object_add(totals, "streams", totals_describe(&engine->totals, engine->registry));
	add_u64(totals, "ended", engine->totals.count);
	json_object_object_add(totals, "storage", storage_describe(context->storage));
	*ret = totals;
	return 0;
}

static struct json_object *columns_describe(const struct iotr_schema *schema)
{
	struct json_object *columns = json_object_new_array();

	for (size_t i = 0; i < schema->column_count; i++) {
		struct json_object *column = json_object_new_object();

		add_string(column, "name", schema->columns[i].name);
		add_string(column, "type", iotr_type_name(schema->columns[i].type));
		add_string(column, "unit", schema->columns[i].unit);
		add_string(column, "doc", schema->columns[i].doc);
		json_object_array_add(columns, column);
	}
	return columns;
}

int engine_streams(struct engine *engine, struct json_object **ret)
{
	struct json_object *streams = json_object_new_array();

	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++) {
		struct json_object *entry = json_object_new_object();

		add_string(entry, "flag", iotr_schemas[stream].flag);
		add_string(entry, "folder", iotr_schemas[stream].folder);
		add_string(entry, "doc", iotr_schemas[stream].doc);
		json_object_object_add(entry, "operations", missing_operations(engine->context.probes, stream));
		json_object_object_add(entry, "columns", columns_describe(&iotr_schemas[stream]));
		json_object_array_add(streams, entry);
	}
	*ret = streams;
	return 0;
}
