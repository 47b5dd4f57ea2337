// SPDX-License-Identifier: GPL-2.0-or-later
#include "metrics/metrics_text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cleanup.h"
#include "json_memory.h"
#include "json_read.h"

#define PREFIX "iotracer_"

/* Begins a metric; a counter's name ends with _total. */
static void begin(FILE *file, const char *name, const char *type, const char *help)
{
	fprintf(file, "# HELP " PREFIX "%s %s\n# TYPE " PREFIX "%s %s\n", name, help, name, type);
}

/* A sample with up to two labels, whose values have neither quotes nor backslashes. */
static void sample(FILE *file, const char *name, const char *label, const char *value, const char *second,
		   const char *second_value, uint64_t sum)
{
	fprintf(file, PREFIX "%s", name);
	if (label)
		fprintf(file, "{%s=\"%s\"", label, value);
	if (second)
		fprintf(file, ",%s=\"%s\"", second, second_value);
	fprintf(file, "%s %" PRIu64 "\n", label ? "}" : "", sum);
}

static void seconds(FILE *file, const char *name, const char *label, const char *value, uint64_t ns)
{
	fprintf(file, PREFIX "%s", name);
	if (label)
		fprintf(file, "{%s=\"%s\"}", label, value);
	fprintf(file, " %" PRIu64 ".%09" PRIu64 "\n", ns / 1000000000, ns % 1000000000);
}

/* ---- the daemon ---- */

static void put_daemon(FILE *file, struct json_object *all, struct json_object *cost)
{
	struct json_object *bpf = member_of(cost, "bpf"), *storage = member_of(all, "storage");

	begin(file, "info", "gauge", "Version of iotracerd, and how it sees system calls; always 1.");
	sample(file, "info", "version", IOTRACER_VERSION, "level", text_of(all, "level", ""), 1);
	begin(file, "cpu_seconds_total", "counter", "CPU time of iotracerd, all of its threads.");
	seconds(file, "cpu_seconds_total", NULL, NULL, number_of(cost, "cpu_ns"));
	if (member_of(bpf, "ns_per_s")) {
		begin(file, "bpf_cpu_ratio", "gauge", "CPU time of the BPF programs for each second, as last measured.");
		seconds(file, "bpf_cpu_ratio", NULL, NULL, number_of(bpf, "ns_per_s"));
	}
	begin(file, "storage_used_bytes", "gauge", "Size of all traces below the log folder.");
	sample(file, "storage_used_bytes", NULL, NULL, NULL, NULL, number_of(storage, "used"));
	if (number_of(storage, "max_use")) {
		begin(file, "storage_max_use_bytes", "gauge", "What they may use: MaxUse=.");
		sample(file, "storage_max_use_bytes", NULL, NULL, NULL, NULL, number_of(storage, "max_use"));
	}
	begin(file, "storage_keep_free_bytes", "gauge", "What sessions leave free on the file system: KeepFree=.");
	sample(file, "storage_keep_free_bytes", NULL, NULL, NULL, NULL, number_of(storage, "keep_free"));
}

/* Operations that this kernel cannot show; unknown while programs are loaded. */
static void put_missing(FILE *file, struct json_object *streams)
{
	begin(file, "operations_missing", "gauge", "Operations of a stream that this kernel cannot show, see iotracectl doctor.");
	for (size_t i = 0; i < json_object_array_length(streams); i++) {
		struct json_object *stream = json_object_array_get_idx(streams, i), *operations = member_of(stream, "operations");
		uint64_t missing = 0;

		for (size_t j = 0; j < json_object_array_length(operations); j++)
			missing += !member_of(json_object_array_get_idx(operations, j), "hook");
		sample(file, "operations_missing", "stream", text_of(stream, "flag", ""), NULL, NULL, missing);
	}
}

/* ---- sums over all sessions ---- */

static void put_sum(FILE *file, struct json_object *streams, const char *name, const char *key, const char *help)
{
	begin(file, name, "counter", help);
	json_object_object_foreach(streams, flag, sums)
		sample(file, name, "stream", flag, NULL, NULL, number_of(sums, key));
}

static void put_sums(FILE *file, struct json_object *all)
{
	static const char *const causes[] = { "ring", "queue", "disk", "unmatched" };
	struct json_object *streams = member_of(all, "streams");

	put_sum(file, streams, "rows_total", "rows", "Rows that sessions have recorded, of all of them since the start.");
	put_sum(file, streams, "bytes_total", "bytes", "Bytes of these rows, before compression.");
	begin(file, "lost_rows_total", "counter", "Rows that sessions have lost, by what happened to them.");
	json_object_object_foreach(streams, flag, sums)
		for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++)
			sample(file, "lost_rows_total", "stream", flag, "cause", causes[i],
			       number_of(member_of(sums, "lost"), causes[i]));
	begin(file, "lost_names_total", "counter", "Rows that are there, but lack a name or an argument.");
	json_object_object_foreach(streams, of, sum)
		sample(file, "lost_names_total", "stream", of, NULL, NULL, number_of(member_of(sum, "lost"), "names"));
	begin(file, "sessions_ended_total", "counter", "Sessions that have ended since the start.");
	sample(file, "sessions_ended_total", NULL, NULL, NULL, NULL, number_of(all, "ended"));
}

/* ---- sessions that have not ended ---- */

static bool has_ended(struct json_object *session)
{
	return !strcmp(text_of(session, "state", ""), "ended");
}

static void put_states(FILE *file, struct json_object *sessions)
{
	static const char *const states[] = { "starting", "waiting", "running", "ending" };
	static const char *const by[] = { "client", "file" };

	begin(file, "sessions", "gauge", "Sessions, by their state and by whom they were started.");
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		for (int file_ = 0; file_ < 2; file_++) {
			uint64_t count = 0;

			for (size_t j = 0; j < json_object_array_length(sessions); j++) {
				struct json_object *session = json_object_array_get_idx(sessions, j);

				count += !strcmp(text_of(session, "state", ""), states[i]) &&
					 json_object_get_boolean(member_of(session, "declared")) == file_;
			}
			sample(file, "sessions", "state", states[i], "by", by[file_], count);
		}
}

/* Numbers of one session. */
struct sums {
	uint64_t rows, bytes, lost;
};

static struct sums sums_of(struct json_object *session)
{
	struct sums sums = { 0 };

	json_object_object_foreach(member_of(session, "streams"), flag, stream)
	{
		struct json_object *lost = member_of(stream, "lost");

		(void)flag;
		sums.rows += number_of(stream, "written") + number_of(stream, "kept") + number_of(stream, "overwritten");
		sums.bytes += number_of(stream, "bytes");
		sums.lost += number_of(lost, "ring") + number_of(lost, "queue") + number_of(lost, "disk") + number_of(lost, "unmatched");
	}
	return sums;
}

/* Whether its disk takes no rows now. */
static bool disk_fails(struct json_object *session)
{
	struct json_object *errors = member_of(session, "disk_errors");

	for (size_t i = 0; errors && i < json_object_array_length(errors); i++)
		if (!member_of(json_object_array_get_idx(errors, i), "to"))
			return true;
	return false;
}

enum session_metric { SESSION_ROWS, SESSION_BYTES, SESSION_LOST, SESSION_STORED, SESSION_CPU, SESSION_FAILS, SESSION_METRICS };

static const struct {
	const char *name, *type, *help;
} session_metrics[SESSION_METRICS] = {
	[SESSION_ROWS] = { "session_rows_total", "counter", "Rows that the session has recorded." },
	[SESSION_BYTES] = { "session_bytes_total", "counter", "Bytes of these rows, before compression." },
	[SESSION_LOST] = { "session_lost_rows_total", "counter", "Rows that it has lost." },
	[SESSION_STORED] = { "session_stored_bytes", "gauge", "Size of its files now." },
	[SESSION_CPU] = { "session_cpu_seconds_total", "counter", "CPU time of its writer." },
	[SESSION_FAILS] = { "session_disk_failing", "gauge", "1 while its disk takes no rows." },
};

static void put_session(FILE *file, enum session_metric metric, struct json_object *session)
{
	const char *name = session_metrics[metric].name, *of = text_of(session, "name", "");
	const struct sums sums = sums_of(session);

	if (metric == SESSION_ROWS)
		sample(file, name, "session", of, NULL, NULL, sums.rows);
	else if (metric == SESSION_BYTES)
		sample(file, name, "session", of, NULL, NULL, sums.bytes);
	else if (metric == SESSION_LOST)
		sample(file, name, "session", of, NULL, NULL, sums.lost);
	else if (metric == SESSION_STORED)
		sample(file, name, "session", of, NULL, NULL, number_of(session, "stored_bytes"));
	else if (metric == SESSION_CPU)
		seconds(file, name, "session", of, number_of(member_of(session, "writer"), "cpu_ns"));
	else
		sample(file, name, "session", of, NULL, NULL, disk_fails(session));
}

static void put_sessions(FILE *file, struct json_object *sessions)
{
	put_states(file, sessions);
	for (enum session_metric metric = 0; metric < SESSION_METRICS; metric++) {
		begin(file, session_metrics[metric].name, session_metrics[metric].type, session_metrics[metric].help);
		for (size_t i = 0; i < json_object_array_length(sessions); i++)
			if (!has_ended(json_object_array_get_idx(sessions, i)))
				put_session(file, metric, json_object_array_get_idx(sessions, i));
	}
}

char *metrics_text(struct engine *engine, size_t *length)
{
	_cleanup_json_ struct json_object *sessions = NULL, *cost = NULL, *all = NULL, *streams = NULL;
	char *text = NULL;
	FILE *file = open_memstream(&text, length);

	if (!file)
		return NULL;
	json_lacks(); /* what was missing before is of something else */
	/* Rows come in meanwhile: those that the sums have are then in the series of their session, too. */
	engine_totals(engine, &all);
	engine_status(engine, NULL, &sessions);
	engine_cost(engine, &cost);
	put_daemon(file, all, cost);
	if (json_object_get_boolean(member_of(all, "loaded")) && engine_streams(engine, &streams) >= 0)
		put_missing(file, streams);
	put_sums(file, all);
	put_sessions(file, sessions);
	if (!fclose(file) && !json_lacks())
		return text;
	free(text);
	return NULL;
}
