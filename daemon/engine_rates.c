// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rates per second: rows and bytes of each stream, CPU time. While sessions run, counters are sampled every
 * second and the last two samples are kept. A rate is taken over the time since the newer sample that is at
 * least half a second old, so over 0.5 to 1.5 seconds, or since the beginning.
 */
#include <time.h>

#include "engine_internal.h"
#include "pipeline/clocks.h"
#include "probes/control_page.h"
#include "schema.h"

#define TICK_US	 1000000
#define FRESH_NS 500000000ULL /* a younger sample is not used as the base of a rate */
#define LEAST_NS 1000000ULL   /* least time that a rate can be taken over */

static struct rate_sample sample_session(const struct session *session)
{
	struct rate_sample sample = { .mono_ns = clocks_mono_ns() };

	if (session->writer)
		sample.cpu_ns = writer_cpu_ns(session->writer);
	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++) {
		struct recorder_counts kept;
		struct writer_counts counts;

		if (!(session->spec.streams >> stream & 1))
			continue;
		if (session->recorder) {
			recorder_counts(session->recorder, stream, &kept);
			sample.rows[stream] = kept.received - kept.lost;
			sample.bytes[stream] = kept.bytes;
		} else {
			writer_counts(session->writer, stream, &counts);
			sample.rows[stream] = counts.written;
			sample.bytes[stream] = counts.bytes;
		}
	}
	return sample;
}

static struct rate_sample sample_daemon(void)
{
	struct rate_sample sample = { .mono_ns = clocks_mono_ns() };
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	sample.cpu_ns = (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
	return sample;
}

static void begin(struct rates *rates, struct rate_sample sample)
{
	rates->last = sample;
	rates->before = sample;
}

static void turn(struct rates *rates, struct rate_sample sample)
{
	rates->before = rates->last;
	rates->last = sample;
}

static const struct rate_sample *base_of(const struct rates *rates, uint64_t now_ns)
{
	return now_ns - rates->last.mono_ns >= FRESH_NS ? &rates->last : &rates->before;
}

static uint64_t per_second(uint64_t count, uint64_t ns)
{
	return ns < LEAST_NS ? 0 : (uint64_t)((double)count * 1e9 / (double)ns);
}

/* ---- each second ---- */

static int tick(sd_event_source *source, uint64_t now, void *userdata)
{
	struct engine *engine = userdata;
	bool runs = false;

	(void)now;
	for (size_t i = 0; i < IOTR_SESSIONS_MAX; i++) {
		struct session *session = engine->sessions[i];

		if (session && session->begun)
			turn(&session->rates, sample_session(session));
		runs |= session != NULL;
	}
	turn(&engine->rates, sample_daemon());
	losses_tick(engine);
	control_page_modules(engine->probes);
	clocks_measure(); /* even while no writer does: a dump needs the clock readings of now */
	if (!runs)
		return 0;
	sd_event_source_set_time_relative(source, TICK_US);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

void rates_begin(struct session *session)
{
	struct engine *engine = session->engine;
	int enabled = SD_EVENT_OFF;

	begin(&session->rates, sample_session(session));
	if (engine->tick)
		sd_event_source_get_enabled(engine->tick, &enabled);
	if (enabled != SD_EVENT_OFF)
		return;
	sd_event_source_disable_unref(engine->tick);
	engine->tick = NULL;
	begin(&engine->rates, sample_daemon());
	sd_event_add_time_relative(engine->event, &engine->tick, CLOCK_MONOTONIC, TICK_US,
				   TICK_US / 100, tick, engine);
}

/* ---- as JSON ---- */

static void add_cpu(struct json_object *object, const struct rate_sample *now,
		    const struct rate_sample *base)
{
	add_u64(object, "cpu_ns", now->cpu_ns);
	add_u64(object, "cpu_ns_per_s",
		per_second(now->cpu_ns - base->cpu_ns, now->mono_ns - base->mono_ns));
}

/* Adds what is left of a limit as KEY, and, at the present rate, the time until it is reached as KEY_ns. */
static void add_left(struct json_object *object, const char *key, uint64_t limit, uint64_t used,
		     uint64_t rate)
{
	uint64_t left = limit > used ? limit - used : 0;
	char name[32];

	if (!limit)
		return;
	add_u64(object, key, left);
	snprintf(name, sizeof(name), "%s_ns", key);
	if (rate)
		add_u64(object, name, (uint64_t)((double)left * 1e9 / (double)rate));
}

/* What is left of the session's limits, and of the size from which its oldest files are removed. */
static struct json_object *remaining(const struct session *session, const struct rate_sample *now,
				     const struct rate_sample *base)
{
	struct json_object *object = json_object_new_object();
	uint64_t due_us, now_us = clocks_mono_ns() / 1000, ns = now->mono_ns - base->mono_ns;
	uint64_t rows = 0, bytes = 0, rows_before = 0, bytes_before = 0;

	for (size_t i = 0; i < IOTR_STREAM_COUNT; i++) {
		rows += now->rows[i];
		bytes += now->bytes[i];
		rows_before += base->rows[i];
		bytes_before += base->bytes[i];
	}
	add_left(object, "max_events", session->spec.max_events, session->before.rows + rows,
		 per_second(rows - rows_before, ns));
	add_left(object, "max_size", session->spec.max_size, session->before.bytes + bytes,
		 per_second(bytes - bytes_before, ns));
	if (session->trace) {
		struct trace_counts counts;

		trace_counts(session->trace, &counts);
		add_left(object, "keep_size", session->spec.keep_size, counts.used,
			 per_second(bytes - bytes_before, ns));
	}

	if (session->duration && sd_event_source_get_time(session->duration, &due_us) >= 0)
		add_u64(object, "duration_ns", due_us > now_us ? (due_us - now_us) * 1000 : 0);
	return object;
}

void rates_describe(const struct session *session, struct json_object *status)
{
	struct json_object *streams = json_object_object_get(status, "streams");
	struct rate_sample now = sample_session(session);
	const struct rate_sample *base = base_of(&session->rates, now.mono_ns);
	struct json_object *cost;

	for (size_t i = 0; i < IOTR_STREAM_COUNT; i++) {
		uint64_t ns = now.mono_ns - base->mono_ns;
		struct json_object *stream;

		if (!(session->spec.streams >> i & 1))
			continue;
		stream = json_object_object_get(streams, iotr_schemas[i].flag);
		add_u64(stream, "rows_per_s", per_second(now.rows[i] - base->rows[i], ns));
		add_u64(stream, "bytes_per_s", per_second(now.bytes[i] - base->bytes[i], ns));
	}
	json_object_object_add(status, "remaining", remaining(session, &now, base));
	if (!session->writer)
		return;
	cost = json_object_new_object();
	add_cpu(cost, &now, base);
	json_object_object_add(status, "writer", cost);
}

int engine_cost(struct engine *engine, struct json_object **ret)
{
	struct json_object *cost = json_object_new_object();
	struct rate_sample now = sample_daemon();

	add_cpu(cost, &now, base_of(&engine->rates, now.mono_ns));
	json_object_object_add(cost, "bpf", bpf_cost_describe(engine));
	*ret = cost;
	return 0;
}
