// SPDX-License-Identifier: GPL-2.0-or-later
#include "reading/merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reading/files.h"
#include "reading/time_text.h"

#define PROGRESS_ROWS 4096

/* The files of one stream of a trace, one after the other. */
struct source {
	size_t trace;
	enum iotr_stream stream;
	struct reading_file *files;
	size_t count, next; /* files, and which is opened next */
	bool open;
	struct trace_rows rows;
	struct facts_columns columns;
	int from[TRACE_CELLS_MAX]; /* column of the file for each of the catalogue; -1: it has none */
	uint64_t reached_ns;	   /* latest time so far */
	uint64_t told;		   /* bytes of the file that progress knows of */
};

struct merge {
	struct verify_trace *traces;
	size_t trace_count;
	struct row_filter *filter;
	struct verify_report *report;
	struct reading_files *files; /* of each trace */
	struct cgroup_names *cgroups;
	struct source *sources; /* those that have rows left come first */
	size_t source_count;
	struct merged_row **heap; /* the earliest first */
	size_t held, room, bytes;
	uint64_t read, given_ns, late;
};

/* ---- the window ---- */

static bool before(const struct merged_row *a, const struct merged_row *b)
{
	return a->ns != b->ns ? a->ns < b->ns : a->read < b->read;
}

static int hold(struct merge *merge, struct merged_row *row)
{
	size_t at = merge->held;

	if (merge->held == merge->room) {
		size_t room = merge->room ? 2 * merge->room : 1024;
		void *more = reallocarray(merge->heap, room, sizeof(*merge->heap));

		if (!more)
			return -ENOMEM;
		merge->heap = more;
		merge->room = room;
	}
	for (; at && before(row, merge->heap[(at - 1) / 2]); at = (at - 1) / 2)
		merge->heap[at] = merge->heap[(at - 1) / 2];
	merge->heap[at] = row;
	merge->held++;
	merge->bytes += row->size;
	return 0;
}

static struct merged_row *take_first(struct merge *merge)
{
	struct merged_row *first = merge->heap[0], *last = merge->heap[--merge->held];
	size_t at = 0;

	for (size_t child; (child = 2 * at + 1) < merge->held; at = child) {
		if (child + 1 < merge->held && before(merge->heap[child + 1], merge->heap[child]))
			child++;
		if (!before(merge->heap[child], last))
			break;
		merge->heap[at] = merge->heap[child];
	}
	merge->heap[at] = last;
	merge->bytes -= first->size;
	if (first->ns < merge->given_ns)
		merge->late++;
	else
		merge->given_ns = first->ns;
	return first;
}

/* ---- sources ---- */

static int add_source(struct merge *merge, size_t trace, struct reading_file *files, size_t count)
{
	struct source *more = reallocarray(merge->sources, merge->source_count + 1, sizeof(*more));

	if (!more)
		return -ENOMEM;
	merge->sources = more;
	merge->sources[merge->source_count++] =
		(struct source){ .trace = trace, .stream = files->number, .files = files, .count = count };
	return 0;
}

static int add_sources(struct merge *merge, size_t trace)
{
	struct reading_files *files = &merge->files[trace];
	int r = reading_files_list(&merge->traces[trace], merge->filter->streams, merge->report, files);

	cgroup_names_read(merge->traces[trace].folder_fd, &merge->cgroups[trace]);
	for (size_t i = 0, end; i < files->count && r >= 0; i = end) {
		for (end = i; end < files->count && files->files[end].number == files->files[i].number;)
			end++;
		r = add_source(merge, trace, &files->files[i], end - i);
	}
	return r;
}

static void find_columns(struct source *source)
{
	const struct iotr_schema *schema = &iotr_schemas[source->stream];

	facts_columns_find(&source->columns, source->stream, &source->rows);
	for (size_t i = 0; i < schema->column_count; i++)
		source->from[i] = trace_rows_column(&source->rows, schema->columns[i].name);
}

static void close_file(struct merge *merge, struct source *source, int r)
{
	verify_progress(merge->report, source->rows.bytes - source->told);
	reading_close(&merge->traces[source->trace], &source->files[source->next - 1], merge->report, &source->rows, r);
	source->open = false;
}

/* Opens the next file that can be read. False: there are no more. */
static bool open_next(struct merge *merge, struct source *source)
{
	while (!source->open && source->next < source->count) {
		struct reading_file *file = &source->files[source->next++];

		merge->report->file = file->name.name;
		source->open = reading_open(&merge->traces[source->trace], file, merge->report, &source->rows) >= 0;
		source->told = 0;
		if (source->open)
			find_columns(source);
		else
			trace_rows_close(&source->rows);
	}
	return source->open;
}

static uint64_t time_of(const struct merge *merge, const struct source *source)
{
	uint64_t ns = source->reached_ns;

	if (merge->trace_count == 1)
		trace_text_u64(facts_cell(&source->rows, source->columns.mono_ns), &ns);
	else
		time_text_ns(facts_cell(&source->rows, source->columns.timestamp), &ns);
	return ns;
}

/* A copy of the current row. */
static struct merged_row *copy_row(const struct merge *merge, const struct source *source)
{
	size_t cells = iotr_schemas[source->stream].column_count, size = sizeof(struct merged_row), at;
	struct merged_row *row;

	size += cells * sizeof(struct merged_cell);
	at = size;
	for (size_t i = 0; i < cells; i++)
		size += facts_cell(&source->rows, source->from[i]).length;
	row = malloc(size);
	if (!row)
		return NULL;
	*row = (struct merged_row){ .ns = time_of(merge, source), .read = merge->read, .trace = source->trace,
				    .stream = source->stream, .size = (uint32_t)size, .cells = (uint16_t)cells };
	for (size_t i = 0; i < cells; i++) {
		struct trace_text text = facts_cell(&source->rows, source->from[i]);

		row->cell[i] = (struct merged_cell){ (uint32_t)at, (uint32_t)text.length };
		memcpy((char *)row + at, text.at, text.length);
		at += text.length;
	}
	return row;
}

static void tell_progress(struct merge *merge, struct source *source)
{
	if (source->rows.rows % PROGRESS_ROWS)
		return;
	verify_progress(merge->report, source->rows.bytes - source->told);
	source->told = source->rows.bytes;
}

/* Reads one row of the source. Returns 1; 0: it has none left; -ENOMEM. */
static int read_row(struct merge *merge, struct source *source)
{
	struct merged_row *row;
	int r;

	while (open_next(merge, source)) {
		uint64_t ns;

		r = trace_rows_next(&source->rows);
		if (r <= 0) {
			close_file(merge, source, r);
			continue;
		}
		merge->read++;
		tell_progress(merge, source);
		ns = time_of(merge, source);
		source->reached_ns = ns > source->reached_ns ? ns : source->reached_ns;
		if (!row_filter_passes(merge->filter, &source->columns, &source->rows, &merge->cgroups[source->trace]))
			return 1;
		row = copy_row(merge, source);
		if (!row || hold(merge, row) < 0) {
			free(row);
			return -ENOMEM;
		}
		return 1;
	}
	return 0;
}

/* The source that is furthest behind; those that are at their end are taken away. NULL: none is left. */
static struct source *furthest_behind(struct merge *merge)
{
	struct source *found = NULL;

	for (size_t i = 0; i < merge->source_count; i++)
		if (!found || merge->sources[i].reached_ns < found->reached_ns)
			found = &merge->sources[i];
	return found;
}

/* ---- the whole ---- */

struct merge *merge_new(struct verify_trace *traces, size_t count, struct row_filter *filter, struct verify_report *report)
{
	struct merge *merge = calloc(1, sizeof(*merge));
	int r = merge ? 0 : -ENOMEM;

	if (!merge)
		return NULL;
	merge->traces = traces;
	merge->filter = filter;
	merge->report = report;
	merge->files = calloc(count, sizeof(*merge->files));
	merge->cgroups = calloc(count, sizeof(*merge->cgroups));
	if (merge->files && merge->cgroups)
		merge->trace_count = count;
	else
		r = -ENOMEM;
	for (size_t i = 0; i < merge->trace_count && r >= 0; i++)
		r = add_sources(merge, i);
	if (r >= 0)
		return merge;
	merge_free(merge);
	return NULL;
}

void merge_free(struct merge *merge)
{
	for (size_t i = 0; i < merge->source_count; i++)
		trace_rows_close(&merge->sources[i].rows);
	for (size_t i = 0; i < merge->held; i++)
		free(merge->heap[i]);
	for (size_t i = 0; i < merge->trace_count; i++) {
		reading_files_done(&merge->files[i]);
		cgroup_names_done(&merge->cgroups[i]);
	}
	free(merge->files);
	free(merge->cgroups);
	free(merge->sources);
	free(merge->heap);
	free(merge);
}

struct merged_row *merge_next(struct merge *merge, int *error)
{
	struct source *source;

	*error = 0;
	while (merge->bytes < MERGE_WINDOW && (source = furthest_behind(merge))) {
		*error = read_row(merge, source);
		if (*error < 0)
			return NULL;
		if (!*error)
			*source = merge->sources[--merge->source_count];
	}
	*error = 0;
	return merge->held ? take_first(merge) : NULL;
}

uint64_t merge_late(const struct merge *merge)
{
	return merge->late;
}
