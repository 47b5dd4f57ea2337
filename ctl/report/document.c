// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/document.h"

#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "json_add.h"
#include "output/json.h"
#include "reading/summary_print.h"

enum { INTERVALS_SHOWN = 128 };

static struct json_object *intervals(const struct rate *rate)
{
	struct json_object *array = json_object_new_array();

	for (unsigned int i = 0; i < rate->used; i++)
		json_object_array_add(array, json_object_new_uint64(rate->counts[i]));
	return array;
}

/* ---- latencies over time ---- */

static struct json_object *heat_object(struct heat *heat)
{
	struct json_object *object = json_object_new_object(), *buckets = json_object_new_array();

	heat_narrow(heat, INTERVALS_SHOWN);
	add_u64(object, "from_mono_ns", heat->rates[0].from_ns);
	add_u64(object, "interval_ns", heat->rates[0].width_ns);
	add_u64(object, "first_ns", HEAT_FIRST_NS);
	for (unsigned int i = 0; i < HEAT_BUCKETS; i++)
		json_object_array_add(buckets, intervals(&heat->rates[i]));
	json_object_object_add(object, "rows", buckets);
	return object;
}

static struct json_object *heats_object(struct gathered *gathered, const struct verify_trace *trace)
{
	struct json_object *object = json_object_new_object();

	for (size_t i = 0; i < trace->stream_count; i++) {
		int number = iotr_stream_find(trace->streams[i].flag);

		if (number >= 0 && gathered->heat[number].rates[0].width_ns)
			json_object_object_add(object, trace->streams[i].flag, heat_object(&gathered->heat[number]));
	}
	return object;
}

/* ---- requests in flight ---- */

static struct json_object *depth_object(struct gathered *gathered)
{
	struct json_object *object = json_object_new_object(), *disks = json_object_new_array();

	for (size_t i = 0; i < gathered->disk_count; i++) {
		struct gathered_disk *disk = &gathered->disks[i];
		struct json_object *one = json_object_new_object();

		rate_narrow(&disk->in_flight, INTERVALS_SHOWN);
		json_object_object_add(one, "disk", json_object_new_string(disk->name));
		add_u64(one, "from_mono_ns", disk->in_flight.from_ns);
		add_u64(one, "interval_ns", disk->in_flight.width_ns);
		json_object_object_add(one, "in_flight_ns", intervals(&disk->in_flight));
		json_object_array_add(disks, one);
	}
	json_object_object_add(object, "disks", disks);
	add_u64(object, "requests_left_out", gathered->disks_left_out);
	return object;
}

/* ---- the trace ---- */

/* What the manifest says of the session, without what grows with its rows or is told elsewhere. */
static struct json_object *trace_object(struct json_object *manifest)
{
	static const char *const elsewhere[] = { "streams", "segments", "losses", "gaps" };
	struct json_object *object = json_object_new_object();

	json_object_object_foreach(manifest, key, value) {
		bool told = false;

		for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++)
			told |= !strcmp(key, elsewhere[i]);
		if (!told)
			json_object_object_add(object, key, json_object_get(value));
	}
	return object;
}

struct json_object *report_document(const char *path, const struct summary *summary, struct gathered *gathered,
				    const struct verify_trace *trace, const struct verify_report *report, size_t most)
{
	const struct summary_view view = { most, TOP_BY_TIME };
	struct json_object *document = summary_document(path, summary, trace, report, &view);

	json_object_object_add(document, "trace", trace_object(trace->json));
	json_object_object_add(document, "heat", heats_object(gathered, trace));
	json_object_object_add(document, "depth", depth_object(gathered));
	json_object_object_add(document, "amplification", amplified_object(&gathered->amplified, summary, most));
	return document;
}
