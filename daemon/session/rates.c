// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/rates.h"

#include <time.h>

#include "json_add.h"
#include "pipeline/clocks.h"
#include "pipeline/storage/trace.h"
#include "schema.h"
#include "session/file_sink.h"
#include "session/session.h"

#define FRESH_NS 500000000ULL /* a younger sample is not used as the base of a rate */
#define LEAST_NS 1000000ULL   /* least time that a rate can be taken over */

static struct rate_sample sample_session(const struct session *session)
{
	struct rate_sample sample = { .mono_ns = clocks_mono_ns() };
	const struct row_sink_ops *ops = session->sink->ops;

	if (ops->cpu_ns)
		sample.cpu_ns = ops->cpu_ns(session->sink);
	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++) {
		struct row_counts counts;

		if (!(session->spec.streams >> stream & 1))
			continue;
		ops->counts(session->sink, stream, &counts);
		sample.rows[stream] = counts.rows;
		sample.bytes[stream] = counts.bytes;
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

static void take(struct rates *rates, struct rate_sample sample)
{
	rates->before = rates->last;
	rates->last = sample;
}

void rates_begin(struct session *session)
{
	begin(&session->rates, sample_session(session));
}

void rates_take(struct session *session)
{
	take(&session->rates, sample_session(session));
}

void rates_begin_daemon(struct rates *rates)
{
	begin(rates, sample_daemon());
}

void rates_take_daemon(struct rates *rates)
{
	take(rates, sample_daemon());
}

static const struct rate_sample *base_of(const struct rates *rates, uint64_t now_ns)
{
	return now_ns - rates->last.mono_ns >= FRESH_NS ? &rates->last : &rates->before;
}

static uint64_t per_second(uint64_t count, uint64_t ns)
{
	return ns < LEAST_NS ? 0 : (uint64_t)((double)count * 1e9 / (double)ns);
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
	const struct file_sink *files = file_sink_of(session->sink);
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
	if (files) {
		struct trace_counts counts;

		trace_counts(files->trace, &counts);
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
	if (!session->sink->ops->cpu_ns)
		return;
	cost = json_object_new_object();
	add_cpu(cost, &now, base);
	json_object_object_add(status, "writer", cost);
}

void rates_describe_daemon(const struct rates *rates, struct json_object *cost)
{
	struct rate_sample now = sample_daemon();

	add_cpu(cost, &now, base_of(rates, now.mono_ns));
}
