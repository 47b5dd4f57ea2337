// SPDX-License-Identifier: GPL-2.0-or-later
#include "verbs/verbs.h"

#include <inttypes.h>
#include <stdio.h>

#include "cleanup.h"
#include "command_line/options.h"
#include "output/json.h"
#include "output/streams.h"
#include "output/text.h"
#include "units.h"
#include "verify/counts.h"
#include "verify/folder.h"
#include "verify/manifest.h"
#include "verify/verify.h"

/* False: it is no trace, or its manifest is so damaged that nothing can be compared with it. */
static bool check(struct verify_trace *trace, struct verify_report *report)
{
	if (!verify_manifest_read(trace, report))
		return false;
	verify_contents(trace, report);
	verify_folder(trace, report);
	verify_progress_end(report);
	if (trace->running)
		verify_say(report, VERIFY_NOTE, MANIFEST_NAME,
			   "the session still runs, or its daemon was killed: only closed files were checked in full");
	return true;
}

static uint64_t problems(const struct verify_report *report)
{
	uint64_t sum = 0;

	for (enum verify_weight weight = 0; weight < VERIFY_WEIGHTS; weight++)
		sum += verify_fails(report, weight) ? report->counts[weight] : 0;
	return sum;
}

/* Number of missing rows according to the manifest, independent of the state of the files. */
static uint64_t rows_missing(const struct verify_trace *trace)
{
	uint64_t rows = 0;

	for (size_t i = 0; i < trace->stream_count; i++)
		rows += trace->streams[i].lost;
	return rows;
}

/* Rows and segments that were removed to keep within limits, all streams together. */
static void sum_removed(const struct verify_trace *trace, enum iotr_removal limit, uint64_t *rows, uint64_t *segments)
{
	for (size_t i = 0; i < trace->stream_count; i++) {
		struct json_object *of = verify_removed_by(&trace->streams[i], limit);

		*rows += number_of(of, "rows");
		*segments += number_of(of, "segments");
	}
}

static uint64_t rows_removed(const struct verify_trace *trace)
{
	uint64_t rows = 0;

	for (size_t i = 0; i < trace->stream_count; i++)
		rows += trace->streams[i].removed;
	return rows;
}

/* The limits that removed something, each with its rows and segments. */
static struct json_object *removed_by(const struct verify_trace *trace)
{
	struct json_object *all = json_object_new_object();

	for (enum iotr_removal limit = 0; limit < IOTR_REMOVAL_COUNT; limit++) {
		uint64_t rows = 0, segments = 0;

		sum_removed(trace, limit, &rows, &segments);
		iotr_removal_add(all, limit, rows, segments);
	}
	return all;
}

static void print_removed(const struct verify_trace *trace)
{
	_cleanup_json_ struct json_object *all = removed_by(trace);
	const char *before = " (";
	char text[128];

	if (!rows_removed(trace))
		return;
	printf(", but for %s rows that limits removed", format_count(text, sizeof(text), rows_removed(trace)));
	for (enum iotr_removal limit = 0; limit < IOTR_REMOVAL_COUNT; limit++) {
		if (!format_removed(text, sizeof(text), all, limit))
			continue;
		printf("%s%s", before, text);
		before = "; ";
	}
	printf("%s", *before == ';' ? ")" : "");
}

/* Operations that had not ended when the session did. */
static uint64_t in_flight(const struct verify_trace *trace)
{
	struct json_object *list = member_of(trace->json, "in_flight");
	uint64_t count = 0;

	for (size_t i = 0; i < count_of(list); i++)
		count += number_of(json_object_array_get_idx(list, i), "count");
	return count;
}

static const char *verdict(const struct verify_trace *trace, const struct verify_report *report)
{
	if (problems(report))
		return "not complete";
	return trace->running ? "complete as far as it goes" : "complete";
}

static void print_summary(const char *path, const struct verify_trace *trace,
			  const struct verify_report *report)
{
	char rows[32], size[32], speed[32];
	double seconds = verify_seconds(report);
	enum style colour = problems(report) ? STYLE_BAD : STYLE_GOOD;

	put_text(stdout, path);
	printf(": %s%s%s", style(stdout, colour), verdict(trace, report), style(stdout, STYLE_PLAIN));
	if (problems(report))
		printf(", %" PRIu64 " %s", problems(report),
		       problems(report) == 1 ? "problem" : "problems");
	print_removed(trace);
	if (in_flight(trace))
		printf(", with %s in flight at its end", format_count(rows, sizeof(rows), in_flight(trace)));
	if (rows_missing(trace))
		printf(", %s rows lost", format_count(rows, sizeof(rows), rows_missing(trace)));
	printf("; read %zu segments, %s rows, ", trace->segment_count,
	       format_count(rows, sizeof(rows), trace->rows_read));
	if (trace->snapshots_read)
		printf("%" PRIu64 " files of snapshots, ", trace->snapshots_read);
	printf("%s in %.1f s, %s/s\n", iotr_format_size(size, sizeof(size), trace->bytes_read), seconds,
	       iotr_format_size(speed, sizeof(speed),
				(uint64_t)((double)trace->bytes_read / (seconds + 1e-9))));
}

static void print_unreadable(const char *path)
{
	put_text(stdout, path);
	printf(": %snot a trace that can be read%s\n", style(stdout, STYLE_BAD), style(stdout, STYLE_PLAIN));
}

static void print_document(const char *path, const struct verify_trace *trace,
			   const struct verify_report *report)
{
	static const char *const names[] = {
		[VERIFY_NOTE] = "notes", [VERIFY_CAVEAT] = "caveats", [VERIFY_LOSS] = "losses",
		[VERIFY_WRONG] = "problems" };
	_cleanup_json_ struct json_object *document = json_object_new_object(), *removed = removed_by(trace);

	json_object_object_add(document, "path", json_escaped(path));
	json_object_object_add(document, "complete",
			       json_object_new_boolean(!problems(report) && !trace->running));
	json_object_object_add(document, "running", json_object_new_boolean(trace->running));
	for (size_t i = VERIFY_WEIGHTS; i-- > 0;) {
		char key[32];

		json_object_object_add(document, names[i], json_object_get(report->lists[i]));
		snprintf(key, sizeof(key), "%s_count", names[i]);
		json_object_object_add(document, key, json_object_new_uint64(report->counts[i]));
	}
	json_object_object_add(document, "segments", json_object_new_uint64(trace->segment_count));
	json_object_object_add(document, "rows", json_object_new_uint64(trace->rows_read));
	json_object_object_add(document, "rows_lost", json_object_new_uint64(rows_missing(trace)));
	json_object_object_add(document, "in_flight", json_object_new_uint64(in_flight(trace)));
	json_object_object_add(document, "rows_removed", json_object_new_uint64(rows_removed(trace)));
	json_object_object_add(document, "removed_by", json_object_get(member_of(removed, "removed_by")));
	json_object_object_add(document, "snapshots", json_object_new_uint64(trace->snapshots_read));
	json_object_object_add(document, "bytes", json_object_new_uint64(trace->bytes_read));
	json_object_object_add(document, "stored_bytes", json_object_new_uint64(trace->stored_read));
	json_object_object_add(document, "seconds", json_object_new_double(verify_seconds(report)));
	print_json(document);
}

static int run(struct context *context, struct json_object *parameters, int argc, char **argv)
{
	_cleanup_close_ int folder = verify_open(argv[0]);
	struct verify_trace trace = { .folder_fd = folder };
	struct verify_report report;
	bool readable;
	int code;

	(void)argc;
	if (folder < 0)
		return EXIT_FAILED;
	verify_report_init(&report, context->json, member_of(parameters, "strict") != NULL);
	readable = check(&trace, &report);
	if (context->json)
		print_document(argv[0], &trace, &report);
	else if (readable)
		print_summary(argv[0], &trace, &report);
	else
		print_unreadable(argv[0]);
	code = problems(&report) ? EXIT_FAILED : trace.running ? EXIT_PARTLY : EXIT_DONE;
	verify_report_done(&report);
	verify_trace_done(&trace);
	return code;
}

static const struct option_row own_rows[] = {
	{ .name = "strict",
	  .kind = OPTION_SWITCH,
	  .parameter = "strict",
	  .help = "also fail if rows were removed, names were lost, hooks are missing or programs were skipped" },
};
static const struct option_group own_options = OPTION_GROUP("Strictness", own_rows);
static const struct option_group *const options[] = { &own_options, NULL };

const struct verb verb_verify = {
	.name = "verify",
	.run = run,
	.group = VERBS_TRACES,
	.synopsis = "DIR [--strict]",
	.summary = "check that a trace, or a folder of snapshots, is complete and undamaged",
	.options = options,
	.arguments_min = 1,
	.arguments_max = 1,
};
