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
	add_size(table, summary_moved(stream, false));
	add_size(table, summary_moved(stream, true));
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
	struct table table = { .columns = 9, .right = 0xfe, .indent = 2 };

	table_heads(&table, "STREAM|ROWS|LOST|ERRORS|READ|WRITTEN|ROWS/S|PEAK|OVER TIME");
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
	add_size(table, summary_bytes(operation));
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
	[SUMMARY_DIRECTORIES] = { "Directories", "DIRECTORY" },
	[SUMMARY_PROCESSES] = { "Processes", "PROCESS" },
	[SUMMARY_UNITS] = { "Units, containers, pods and other cgroups", "UNIT" },
	[SUMMARY_DEVICES] = { "Devices", "DEVICE" },
	[SUMMARY_PEERS] = { "Peers", "PEER" },
};

static const char *const most_of[] = {
	[TOP_BY_TIME] = "most time was spent", [TOP_BY_BYTES] = "most bytes were moved",
	[TOP_BY_ROWS] = "most rows are of", [TOP_BY_ERRORS] = "most errors are of",
};

enum figure { FIGURE_TIME, FIGURE_ROWS, FIGURE_ERRORS, FIGURE_READ, FIGURE_WRITTEN, FIGURES };

/* A list with its columns: of the outermost layer all figures, of each other one those that any of the shown has. */
struct list_shown {
	const struct summary *summary;
	enum summary_list list;
	const struct top_entry **entries;
	int count;
	unsigned int outermost;
	uint32_t figures[FACTS_LAYERS]; /* bits */
};

static uint64_t figure_of(const struct top_sum *sum, enum figure figure)
{
	const uint64_t figures[FIGURES] = { sum->ns, sum->rows, sum->errors, sum->read, sum->written };

	return figures[figure];
}

static void choose_figures(struct list_shown *shown)
{
	for (unsigned int layer = 0; layer < FACTS_LAYERS; layer++) {
		uint32_t any = 0;

		for (int i = 0; i < shown->count; i++)
			for (enum figure figure = 0; figure < FIGURES; figure++)
				any |= (uint32_t)!!figure_of(&shown->entries[i]->sums[layer], figure) << figure;
		if (layer == shown->outermost)
			any = (1U << FIGURES) - 1;
		else if (any & ~(1U << FIGURE_ROWS | 1U << FIGURE_ERRORS))
			any &= ~(1U << FIGURE_ROWS | 1U << FIGURE_ERRORS);
		shown->figures[layer] = any;
	}
}

static void add_figure(struct table *table, const struct top_sum *sum, enum figure figure)
{
	uint64_t value = figure_of(sum, figure);

	if (figure == FIGURE_TIME)
		add_time(table, value, value);
	else if (figure == FIGURE_ROWS || figure == FIGURE_ERRORS)
		add_count(table, value, STYLE_PLAIN);
	else
		add_size(table, value);
}

/* For each column of numbers, outermost layer first. `sum` NULL: the heads. */
static void add_figures(struct table *table, const struct list_shown *shown, const struct top_entry *entry)
{
	static const char *const heads[FIGURES] = { "TIME", "ROWS", "ERRORS", "READ", "WRITTEN" };

	const struct top *top = &shown->summary->lists[shown->list];

	for (size_t turn = 0; turn <= top->layer_count; turn++) {
		unsigned int layer = turn ? top->layers[turn - 1] : shown->outermost;

		if (turn && layer == shown->outermost)
			continue;
		for (enum figure figure = 0; figure < FIGURES; figure++) {
			if (!(shown->figures[layer] >> figure & 1))
				continue;
			if (entry)
				add_figure(table, &entry->sums[layer], figure);
			else
				table_add(table, STYLE_BOLD, "%s%s%s", turn ? facts_layer_name(layer) : "", turn ? " " : "",
					  heads[figure]);
		}
	}
}

static void add_entry(struct table *table, const struct list_shown *shown, const struct top_entry *entry)
{
	const struct summary *summary = shown->summary;
	_cleanup_free_ char *key = strndup(top_key(&summary->lists[shown->list], entry), entry->key_length);
	const char *disk = shown->list == SUMMARY_DEVICES && key ? summary_disk(summary, key) : "";

	add_figures(table, shown, entry);
	table_add(table, STYLE_PLAIN, "%s%s%s%s", key ?: "", *disk ? " " : "", disk,
		  entry->at_least ? " (at least)" : "");
}

static void print_title(const struct list_shown *shown, const struct summary_view *view)
{
	const struct top *top = &shown->summary->lists[shown->list];
	char text[32];

	printf("\n%s where %s in %s", lists[shown->list].title, most_of[view->order], facts_layer_name(shown->outermost));
	if (top_forgot(top))
		printf("; there were too many to follow all: any has at most %s and %" PRIu64 " rows more",
		       iotr_format_duration(text, sizeof(text), top->forgotten[shown->outermost].ns),
		       top->forgotten[shown->outermost].rows);
	else if (top->count > view->most)
		printf(" (of %s)", format_count(text, sizeof(text), top->count));
	printf(":\n");
}

static void print_list(const struct summary *summary, enum summary_list list, const struct summary_view *view)
{
	_cleanup_free_ const struct top_entry **entries = calloc(view->most ?: 1, sizeof(*entries));
	struct list_shown shown = { .summary = summary, .list = list, .entries = entries,
				    .outermost = summary_outermost(summary, list) };
	struct table table = { .columns = 1, .indent = 2 };

	shown.count = entries ? top_greatest(&summary->lists[list], view->order, entries, view->most) : 0;
	if (shown.count <= 0 || shown.outermost == FACTS_LAYERS)
		return;
	choose_figures(&shown);
	for (unsigned int layer = 0; layer < FACTS_LAYERS; layer++)
		table.columns += (size_t)__builtin_popcount(shown.figures[layer]);
	table.right = (1U << (table.columns - 1)) - 1;
	print_title(&shown, view);
	add_figures(&table, &shown, NULL);
	table_add(&table, STYLE_BOLD, "%s", lists[list].head);
	for (int i = 0; i < shown.count; i++)
		add_entry(&table, &shown, shown.entries[i]);
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
		   const struct summary_view *view)
{
	print_head(trace);
	print_streams(summary, trace);
	if (summary->rows)
		print_operations(summary);
	for (enum summary_list list = 0; list < SUMMARY_LISTS; list++)
		print_list(summary, list, view);
	print_findings(report, VERIFY_LOSS, "Lost", STYLE_BAD);
	print_loss_times(member_of(trace->json, "losses"));
	print_findings(report, VERIFY_CAVEAT, "Worth knowing", STYLE_BOLD);
	print_findings(report, VERIFY_WRONG, "Differs from its manifest ('iotracectl verify' tells all)", STYLE_BAD);
	print_foot(summary, report);
}
