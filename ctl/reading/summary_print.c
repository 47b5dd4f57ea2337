// SPDX-License-Identifier: GPL-2.0-or-later
#include "reading/summary_print.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "output/json.h"
#include "output/table.h"
#include "reading/sparkline.h"
#include "units.h"

enum { SPARKS = 32, TOLD_MAX = 20 };

/* ---- cells ---- */

static void add_count(struct table *table, uint64_t count, enum style style)
{
	char text[32];

	table_add(table, count ? style : STYLE_PLAIN, "%s", format_count(text, sizeof(text), count));
}

/* "-" where there is none. */
static void add_size(struct table *table, uint64_t bytes)
{
	char text[32] = "-";

	table_add(table, STYLE_PLAIN, "%s", bytes ? iotr_format_size(text, sizeof(text), bytes) : text);
}

static void add_time(struct table *table, bool there, uint64_t ns)
{
	char text[32] = "-";

	table_add(table, STYLE_PLAIN, "%s", there ? iotr_format_duration(text, sizeof(text), ns) : text);
}

/* ---- the session ---- */

static void print_head(const struct verify_trace *trace)
{
	const char *ended = text_of(trace->json, "ended", NULL);
	struct json_object *host = member_of(trace->json, "host");

	printf("%s", style(stdout, STYLE_BOLD));
	put_text(stdout, text_of(trace->json, "session", "?"));
	printf("%s", style(stdout, STYLE_PLAIN));
	put_line(stdout, ": %s, kernel %s, %s level, from %.19s%s%.19s", text_of(trace->json, "state", "?"),
		 text_of(host, "kernel", "?"), text_of(trace->json, "level", "?"), text_of(trace->json, "started", "?"),
		 ended ? " to " : "", ended ?: "");
}

static void add_stream(struct table *table, const struct verify_stream *of, struct summary_stream *stream)
{
	struct rate *rate = &stream->rate;
	char sparks[SPARKLINE_SIZE(SPARKS)], text[32], peak[32];
	uint64_t span = rate->width_ns * rate->used, most = 0;

	table_add(table, STYLE_PLAIN, "%s", of->flag);
	add_count(table, stream->rows, STYLE_PLAIN);
	add_count(table, of->lost, STYLE_BAD);
	add_count(table, stream->errors, STYLE_PLAIN);
	add_size(table, stream->bytes);
	table_add(table, STYLE_PLAIN, "%s",
		  format_count(text, sizeof(text), span ? (uint64_t)((double)stream->rows * 1e9 / (double)span) : 0));
	rate_narrow(rate, SPARKS);
	for (unsigned int i = 0; i < rate->used; i++)
		most = rate->counts[i] > most ? rate->counts[i] : most;
	table_add(table, STYLE_PLAIN, "%s",
		  format_count(peak, sizeof(peak),
			       rate->width_ns ? (uint64_t)((double)most * 1e9 / (double)rate->width_ns) : 0));
	sparkline_write(rate->counts, rate->used, sparks, sizeof(sparks));
	table_add(table, STYLE_PLAIN, "%s", sparks);
}

static void print_streams(const struct summary *summary, const struct verify_trace *trace)
{
	struct table table = { .columns = 8, .right = 0x7e, .indent = 2 };

	table_heads(&table, "STREAM|ROWS|LOST|ERRORS|BYTES|ROWS/S|PEAK|OVER TIME");
	for (size_t i = 0; i < trace->stream_count; i++) {
		int number = iotr_stream_find(trace->streams[i].flag);
		struct summary_stream stream;

		if (number < 0)
			continue;
		stream = summary->streams[number]; /* a copy, as its intervals are made wider */
		add_stream(&table, &trace->streams[i], &stream);
	}
	table_print(&table, stdout);
	table_done(&table);
}

/* ---- operations ---- */

static int by_rows(const void *a, const void *b)
{
	const struct summary_operation *left = *(const struct summary_operation *const *)a;
	const struct summary_operation *right = *(const struct summary_operation *const *)b;

	if (left->rows != right->rows)
		return left->rows < right->rows ? 1 : -1;
	return strcmp(left->name, right->name);
}

size_t summary_sorted(const struct summary_stream *stream, const struct summary_operation **list)
{
	for (size_t i = 0; i < stream->operation_count; i++)
		list[i] = &stream->operations[i];
	qsort(list, stream->operation_count, sizeof(*list), by_rows);
	return stream->operation_count;
}

static void add_operation(struct table *table, const char *flag, const struct summary_operation *operation)
{
	const struct histogram *latencies = operation->latencies;

	table_add(table, STYLE_PLAIN, "%s", flag);
	table_add(table, STYLE_PLAIN, "%s", operation->name);
	add_count(table, operation->rows, STYLE_PLAIN);
	add_count(table, operation->errors, STYLE_PLAIN);
	add_size(table, operation->bytes);
	for (size_t i = 0; i < PERCENTILES; i++)
		add_time(table, latencies, latencies ? histogram_percentile(latencies, shown_percentiles[i].percent) : 0);
	add_time(table, latencies, latencies ? latencies->max : 0);
	add_time(table, latencies, latencies ? latencies->sum : 0);
}

static void print_operations(const struct summary *summary)
{
	const struct summary_operation *sorted[SUMMARY_OPERATIONS_MAX];
	struct table table = { .columns = 10, .right = 0x3fc, .indent = 2 };

	table_heads(&table, "STREAM|OPERATION|ROWS|ERRORS|BYTES");
	for (size_t i = 0; i < PERCENTILES; i++)
		table_heads(&table, shown_percentiles[i].head);
	table_heads(&table, "MAX|TOTAL");
	for (size_t i = 0; i < IOTR_STREAM_COUNT; i++) {
		size_t count = summary_sorted(&summary->streams[i], sorted);

		for (size_t j = 0; j < count; j++)
			add_operation(&table, iotr_schemas[i].flag, sorted[j]);
	}
	puts("\nOperations, with latencies to " HISTOGRAM_ERROR_TEXT ":");
	table_print(&table, stdout);
	table_done(&table);
}

/* ---- lists ---- */

static const struct {
	const char *title, *head;
} lists[SUMMARY_LISTS] = {
	[SUMMARY_FILES] = { "Files", "FILE" },
	[SUMMARY_PROCESSES] = { "Processes", "PROCESS" },
	[SUMMARY_UNITS] = { "Units, containers, pods and other cgroups", "UNIT" },
	[SUMMARY_DEVICES] = { "Devices", "DEVICE" },
	[SUMMARY_PEERS] = { "Peers", "PEER" },
};

static void add_entry(struct table *table, const struct summary *summary, enum summary_list list,
		      const struct top_entry *entry)
{
	_cleanup_free_ char *key = strndup(top_key(&summary->lists[list], entry), entry->key_length);
	const char *disk = list == SUMMARY_DEVICES && key ? summary_disk(summary, key) : "";

	add_time(table, entry->sums.ns, entry->sums.ns);
	add_count(table, entry->sums.rows, STYLE_PLAIN);
	add_count(table, entry->sums.errors, STYLE_PLAIN);
	add_size(table, entry->sums.bytes);
	table_add(table, STYLE_PLAIN, "%s%s%s%s", key ?: "", *disk ? " " : "", disk,
		  entry->at_least ? " (at least)" : "");
}

static void print_list(const struct summary *summary, enum summary_list list, size_t most)
{
	const struct top *top = &summary->lists[list];
	_cleanup_free_ const struct top_entry **entries = calloc(most ?: 1, sizeof(*entries));
	struct table table = { .columns = 5, .right = 0xf, .indent = 2 };
	int count = entries ? top_greatest(top, entries, most) : 0;
	char text[32];

	if (count <= 0)
		return;
	printf("\n%s where most time was spent", lists[list].title);
	if (top->forgotten.rows)
		printf("; there were too many to follow all: any has at most %s and %" PRIu64 " rows more",
		       iotr_format_duration(text, sizeof(text), top->forgotten.ns), top->forgotten.rows);
	else if (top->count > most)
		printf(" (of %s)", format_count(text, sizeof(text), top->count));
	printf(":\n");
	table_heads(&table, "TIME|ROWS|ERRORS|BYTES");
	table_add(&table, STYLE_BOLD, "%s", lists[list].head);
	for (int i = 0; i < count; i++)
		add_entry(&table, summary, list, entries[i]);
	table_print(&table, stdout);
	table_done(&table);
}

/* ---- losses ---- */

static void print_findings(const struct verify_report *report, enum verify_weight weight, const char *title,
			   enum style colour)
{
	struct json_object *list = report->lists[weight];

	if (!report->counts[weight])
		return;
	printf("\n%s%s%s:\n", style(stdout, colour), title, style(stdout, STYLE_PLAIN));
	for (size_t i = 0; i < count_of(list) && i < TOLD_MAX; i++) {
		struct json_object *finding = json_object_array_get_idx(list, i);

		put_line(stdout, "  %s%s%s", strcmp(text_of(finding, "file", ""), MANIFEST_NAME) ? text_of(finding, "file", "") : "",
			 strcmp(text_of(finding, "file", ""), MANIFEST_NAME) ? ": " : "", text_of(finding, "what", ""));
	}
	if (report->counts[weight] > TOLD_MAX)
		printf("  and %" PRIu64 " more\n", report->counts[weight] - TOLD_MAX);
}

static void print_loss_times(struct json_object *losses)
{
	char rows[32];

	for (size_t i = 0; i < count_of(losses) && i < TOLD_MAX; i++) {
		struct json_object *loss = json_object_array_get_idx(losses, i);

		put_line(stdout, "    %.23s to %.23s: %s rows of %s in: %s", text_of(loss, "from", "?"),
			 text_of(loss, "to", "?"), format_count(rows, sizeof(rows), number_of(loss, "rows")),
			 text_of(loss, "stream", "?"), text_of(loss, "cause", "?"));
	}
	if (count_of(losses) > TOLD_MAX)
		printf("    and %zu more; --json has all\n", count_of(losses) - TOLD_MAX);
}

static void print_foot(const struct summary *summary, const struct verify_report *report)
{
	char rows[32], size[32], speed[32];
	double seconds = verify_seconds(report) + 1e-9;

	printf("\nread %s rows of %zu files, %s in %.1f s: %s rows a second\n",
	       format_count(rows, sizeof(rows), summary->rows), summary->files,
	       iotr_format_size(size, sizeof(size), summary->bytes), seconds,
	       format_count(speed, sizeof(speed), (uint64_t)((double)summary->rows / seconds)));
}

void summary_print(const struct summary *summary, const struct verify_trace *trace, const struct verify_report *report,
		   size_t most)
{
	print_head(trace);
	print_streams(summary, trace);
	if (summary->rows)
		print_operations(summary);
	for (enum summary_list list = 0; list < SUMMARY_LISTS; list++)
		print_list(summary, list, most);
	print_findings(report, VERIFY_LOSS, "Lost", STYLE_BAD);
	print_loss_times(member_of(trace->json, "losses"));
	print_findings(report, VERIFY_CAVEAT, "Worth knowing", STYLE_BOLD);
	print_findings(report, VERIFY_WRONG, "Differs from its manifest ('iotracectl verify' tells all)", STYLE_BAD);
	print_foot(summary, report);
}
