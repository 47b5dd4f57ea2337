// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/row.h"

#include <stdlib.h>
#include <string.h>

#define SECTOR_SIZE 512

/* A row of the merge as one that was read from a file whose columns are the catalogue's. */
struct view {
	struct trace_rows rows;
	struct facts_columns columns;
	int offset, flow, inode, flags;
};

struct export_reader {
	struct view views[IOTR_STREAM_COUNT];
};

static void begin(struct view *view, enum iotr_stream stream)
{
	const struct iotr_schema *schema = &iotr_schemas[stream];

	view->rows.columns = schema->column_count;
	for (size_t i = 0; i < schema->column_count; i++)
		view->rows.names[i] = (struct trace_text){ schema->columns[i].name, strlen(schema->columns[i].name) };
	facts_columns_find(&view->columns, stream, &view->rows);
	view->offset = trace_rows_column(&view->rows, stream == IOTR_BLOCK ? "sector" : "offset");
	view->flow = trace_rows_column(&view->rows, "flow");
	view->inode = trace_rows_column(&view->rows, "inode");
	view->flags = trace_rows_column(&view->rows, "flags");
}

struct export_reader *export_reader_new(void)
{
	struct export_reader *reader = calloc(1, sizeof(*reader));

	for (int stream = 0; reader && stream < IOTR_STREAM_COUNT; stream++)
		begin(&reader->views[stream], (enum iotr_stream)stream);
	return reader;
}

void export_reader_free(struct export_reader *reader)
{
	free(reader);
}

static uint64_t plus(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Requests wait in a queue before they are issued, from where their latency counts. */
static uint64_t end_of(const struct view *view, const struct facts *facts, uint64_t begin_ns)
{
	uint64_t queued = 0;

	trace_text_ms(facts_cell(&view->rows, view->columns.queue_latency), &queued);
	return facts->has_latency ? plus(begin_ns, plus(queued, facts->latency_ns)) : begin_ns;
}

void export_reader_read(struct export_reader *reader, const struct merged_row *merged, struct export_row *row)
{
	struct view *view = &reader->views[merged->stream];
	const struct facts_columns *columns = &view->columns;
	struct facts facts;

	for (size_t i = 0; i < merged->cells; i++)
		view->rows.cells[i] = merged_cell(merged, i);
	facts_read(columns, &view->rows, &facts);
	*row = (struct export_row){
		.stream = merged->stream,
		.time = facts_cell(&view->rows, columns->timestamp),
		.operation = facts_cell(&view->rows, columns->operation),
		.command = facts_cell(&view->rows, columns->command),
		.file = facts_cell(&view->rows, columns->file),
		.inode = facts_cell(&view->rows, view->inode),
		.flags = facts_cell(&view->rows, view->flags),
		.device = facts_cell(&view->rows, columns->device),
		.disk = facts_cell(&view->rows, columns->disk),
		.begin_ns = merged->ns,
		.end_ns = end_of(view, &facts, merged->ns),
		.asked = facts.asked,
		.done = facts.done,
		.failed = facts.failed,
	};
	trace_text_u64(facts_cell(&view->rows, columns->pid), &row->pid);
	trace_text_u64(facts_cell(&view->rows, columns->tid), &row->tid);
	trace_text_u64(facts_cell(&view->rows, view->flow), &row->flow);
	row->has_offset = trace_text_u64(facts_cell(&view->rows, view->offset), &row->offset);
	if (merged->stream == IOTR_BLOCK && row->has_offset)
		row->has_offset = !__builtin_mul_overflow(row->offset, SECTOR_SIZE, &row->offset);
}
