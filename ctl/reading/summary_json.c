// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "json_add.h"
#include "output/json.h"
#include "reading/summary_print.h"

static void add_member(struct json_object *object, const char *key, struct json_object *from, const char *name)
{
	json_object_object_add(object, key, json_object_get(member_of(from, name)));
}

static struct json_object *latency_object(const struct histogram *latencies)
{
	struct json_object *object = json_object_new_object();
	char name[32];

	add_u64(object, "count", latencies->total);
	add_u64(object, "sum_ns", latencies->sum);
	for (size_t i = 0; i < PERCENTILES; i++) {
		snprintf(name, sizeof(name), "%s_ns", shown_percentiles[i].name);
		add_u64(object, name, histogram_percentile(latencies, shown_percentiles[i].percent));
	}
	add_u64(object, "max_ns", latencies->max);
	return object;
}

static struct json_object *operation_object(const struct summary_operation *operation)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "name", json_escaped(operation->name));
	add_u64(object, "rows", operation->rows);
	add_u64(object, "errors", operation->errors);
	add_u64(object, "bytes", summary_bytes(operation));
	json_object_object_add(object, "latency", operation->latencies ? latency_object(operation->latencies) : NULL);
	return object;
}

static struct json_object *rate_object(const struct rate *rate)
{
	struct json_object *object = json_object_new_object(), *rows = json_object_new_array();

	add_u64(object, "from_mono_ns", rate->from_ns);
	add_u64(object, "interval_ns", rate->width_ns);
	for (unsigned int i = 0; i < rate->used; i++)
		json_object_array_add(rows, json_object_new_uint64(rate->counts[i]));
	json_object_object_add(object, "rows", rows);
	return object;
}

static struct json_object *stream_object(const struct verify_stream *of, const struct summary_stream *stream)
{
	const struct summary_operation *sorted[SUMMARY_OPERATIONS_MAX];
	struct json_object *object = json_object_new_object(), *operations = json_object_new_array();
	size_t count = summary_sorted(stream, sorted);

	add_u64(object, "emitted", of->emitted);
	add_u64(object, "written", of->written);
	add_u64(object, "removed", of->removed);
	json_object_object_add(object, "lost", json_object_get(of->lost_by));
	add_u64(object, "rows", stream->rows);
	add_u64(object, "errors", stream->errors);
	add_u64(object, "read_bytes", summary_moved(stream, false));
	add_u64(object, "written_bytes", summary_moved(stream, true));
	for (size_t i = 0; i < count; i++)
		json_object_array_add(operations, operation_object(sorted[i]));
	json_object_object_add(object, "operations", operations);
	json_object_object_add(object, "rate", rate_object(&stream->rate));
	return object;
}

static struct json_object *streams_object(const struct summary *summary, const struct verify_trace *trace)
{
	struct json_object *object = json_object_new_object();

	for (size_t i = 0; i < trace->stream_count; i++) {
		int number = iotr_stream_find(trace->streams[i].flag);

		if (number >= 0)
			json_object_object_add(object, trace->streams[i].flag,
					       stream_object(&trace->streams[i], &summary->streams[number]));
	}
	return object;
}

static void add_key(struct json_object *object, const struct summary *summary, enum summary_list list, const char *key)
{
	const char *space = strchr(key, ' ');

	if (list == SUMMARY_PROCESSES && space) {
		add_u64(object, "pid", strtoull(key, NULL, 10));
		json_object_object_add(object, "command", json_object_new_string(space + 1));
		return;
	}
	json_object_object_add(object, "name", json_object_new_string(key));
	if (list == SUMMARY_DEVICES)
		json_object_object_add(object, "disk", json_object_new_string(summary_disk(summary, key)));
}

static void add_sum(struct json_object *object, const struct top_sum *sum)
{
	add_u64(object, "time_ns", sum->ns);
	add_u64(object, "rows", sum->rows);
	add_u64(object, "errors", sum->errors);
	add_u64(object, "read_bytes", sum->read);
	add_u64(object, "written_bytes", sum->written);
}

/* Sums of the outermost layer, and those of the layers below beside them. */
static struct json_object *entry_object(const struct summary *summary, enum summary_list list,
					const struct top_entry *entry)
{
	_cleanup_free_ char *key = strndup(top_key(&summary->lists[list], entry), entry->key_length);
	struct json_object *object = json_object_new_object(), *beside = json_object_new_object();
	unsigned int outermost = summary_outermost(summary, list);

	add_key(object, summary, list, key ?: "");
	if (outermost < FACTS_LAYERS)
		add_sum(object, &entry->sums[outermost]);
	for (unsigned int layer = 0; layer < FACTS_LAYERS; layer++) {
		struct json_object *one;

		if (layer == outermost || !entry->sums[layer].rows)
			continue;
		one = json_object_new_object();
		add_sum(one, &entry->sums[layer]);
		json_object_object_add(beside, facts_layer_name(layer), one);
	}
	json_object_object_add(object, "beside", beside);
	json_object_object_add(object, "exact", json_object_new_boolean(!entry->at_least));
	return object;
}

static struct json_object *list_object(const struct summary *summary, enum summary_list list, const struct summary_view *view)
{
	const struct top *top = &summary->lists[list];
	_cleanup_free_ const struct top_entry **entries = calloc(view->most ?: 1, sizeof(*entries));
	int count = entries ? top_greatest(top, view->order, entries, view->most) : 0;
	struct json_object *array = json_object_new_array();

	for (int i = 0; i < count; i++)
		json_object_array_add(array, entry_object(summary, list, entries[i]));
	return array;
}

/* What the sums of each list are of; a list without any is not there. */
static struct json_object *layers_object(const struct summary *summary)
{
	struct json_object *object = json_object_new_object();

	for (enum summary_list list = 0; list < SUMMARY_LISTS; list++) {
		unsigned int layer = summary_outermost(summary, list);

		if (layer < FACTS_LAYERS)
			json_object_object_add(object, summary_list_names[list],
					       json_object_new_string(facts_layer_name(layer)));
	}
	return object;
}

static void add_findings(struct json_object *document, const struct verify_report *report)
{
	static const char *const names[] = { [VERIFY_NOTE] = "notes", [VERIFY_CAVEAT] = "caveats",
					     [VERIFY_LOSS] = "losses", [VERIFY_WRONG] = "problems" };

	for (size_t i = VERIFY_WEIGHTS; i-- > 0;)
		json_object_object_add(document, names[i], json_object_get(report->lists[i]));
}

struct json_object *summary_document(const char *path, const struct summary *summary, const struct verify_trace *trace,
				     const struct verify_report *report, const struct summary_view *view)
{
	struct json_object *document = json_object_new_object();
	static const char *const members[] = { "session", "state", "level", "started", "ended", "host" };

	json_object_object_add(document, "path", json_escaped(path));
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		add_member(document, members[i], trace->json, members[i]);
	json_object_object_add(document, "streams", streams_object(summary, trace));
	json_object_object_add(document, "latency_error", json_object_new_double_s(HISTOGRAM_ERROR, "0.004"));
	json_object_object_add(document, "layers", layers_object(summary));
	for (enum summary_list list = 0; list < SUMMARY_LISTS; list++)
		json_object_object_add(document, summary_list_names[list], list_object(summary, list, view));
	add_findings(document, report);
	add_member(document, "loss_times", trace->json, "losses");
	add_member(document, "gaps", trace->json, "gaps");
	add_u64(document, "rows", summary->rows);
	add_u64(document, "bad_rows", summary->bad_rows);
	add_u64(document, "bytes", summary->bytes);
	json_object_object_add(document, "seconds", json_object_new_double(verify_seconds(report)));
	return document;
}

void summary_print_json(const char *path, const struct summary *summary, const struct verify_trace *trace,
			const struct verify_report *report, const struct summary_view *view)
{
	_cleanup_json_ struct json_object *document = summary_document(path, summary, trace, report, view);

	print_json(document);
}
