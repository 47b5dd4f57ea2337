// SPDX-License-Identifier: GPL-2.0-or-later
#include "format_csv.h"

#include <string.h>

#include "cells/columns.h"

#define CELL_SIZE_MAX 40 /* bytes of a cell that is not text, with its comma */
#define FIXED_MAX     (CELLS_MAX * CELL_SIZE_MAX + 3 * FLAGS_TEXT_MAX + 512)

#define WRITER(id, name, ...) [IOTR_##id] = csv_write_##name,
static const csv_writer writers[IOTR_STREAM_COUNT] = { IOTR_STREAMS(WRITER) };

static void keep_operations(struct csv *csv, const struct iotr_schema *schema)
{
	for (size_t i = 0; i < schema->operation_count; i++) {
		char text[CSV_KEPT_SIZE + 2], *end = stpncpy(text, schema->operations[i], CSV_KEPT_SIZE + 1);

		*end++ = ',';
		csv_keep(&csv->operations[i], text, (size_t)(end - text));
	}
}

void format_csv_init(struct csv *csv, enum iotr_stream stream, struct cells_anonymizer *anonymizer)
{
	memset(csv, 0, sizeof(*csv));
	csv->stream = stream;
	csv->anonymizer = anonymizer;
	csv->date.second_ns = UINT64_MAX;
	keep_operations(csv, &iotr_schemas[stream]);
}

size_t format_csv_bound(const struct row *row, bool anonymized)
{
	if (anonymized)
		return FIXED_MAX + cells_anonymized_bound(row);
	return FIXED_MAX + (size_t)row->path.length + row->path2.length;
}

size_t format_csv_cells(struct csv *csv, const struct cell *cell, size_t count, char *out)
{
	struct csv_digits digits = csv_no_digits();
	char *at = out;

	for (size_t i = 0; i < count; i++)
		at = csv_put(csv, &digits, at, cell[i], i);
	at[-1] = '\n';
	return (size_t)(at - out);
}

static void keep_columns(struct csv *csv, struct csv_kept *kept, const struct cell *cell, size_t from, size_t to)
{
	struct csv_digits digits = csv_no_digits();
	char text[2 * CELLS_MAX * CELL_SIZE_MAX], *at = text;

	for (size_t i = from; i <= to; i++)
		at = csv_put(csv, &digits, at, cell[i], i);
	csv_keep(kept, text, (size_t)(at - text));
}

CSV_RARE static void keep_task(struct csv *csv, struct csv_task *task, struct cells *cells, const struct row *row)
{
	struct cell cell[CELLS_MAX];
	size_t last = cells_fill(cells, row, cell) - LAST_COUNT;

	keep_columns(csv, &task->begin, cell, FIRST_pid, FIRST_command);
	keep_columns(csv, &task->end, cell, last + LAST_ppid, last + LAST_cpu_id);
	memcpy(&task->task, (const char *)row->record + CELLS_HEAD_TASK, sizeof(task->task));
	task->cpu = row->record->cpu;
}

/* Text that does not fit has length 0. */
static const struct csv_task *find_task(struct csv *csv, struct cells *cells, const struct row *row)
{
	const struct iotr_record *head = row->record;
	struct csv_task *task = &csv->tasks[csv_hash(head->tid) % CSV_TASKS];

	if (task->cpu != head->cpu || !task->begin.length || !cells_same_task(&task->task, head))
		keep_task(csv, task, cells, row);
	return task;
}

CSV_RARE static size_t write_cells(struct csv *csv, struct cells *cells, const struct row *row, char *out)
{
	struct cell cell[CELLS_MAX];

	return format_csv_cells(csv, cell, cells_fill(cells, row, cell), out);
}

size_t format_csv_row(struct csv *csv, struct cells *cells, const struct row *row, char *out)
{
	const struct iotr_record *head = row->record;
	const struct csv_task *task = find_task(csv, cells, row);
	const struct csv_kept *operation = &csv->operations[head->operation % IOTR_OPERATIONS_MAX];
	char *at;

	if (!task->begin.length || !task->end.length || !operation->length || head->operation >= IOTR_OPERATIONS_MAX)
		return write_cells(csv, cells, row, out);
	cells->flags_used = 0;
	at = format_time(&csv->date, out, head->start_ns + (uint64_t)cells->realtime_offset);
	*at++ = ',';
	at = csv_copy(at, operation);
	at = csv_copy(at, &task->begin);
	at = writers[head->stream](csv, cells, row, at);
	at = csv_copy(at, &task->end);
	at = format_mono(&csv->mono, at, head->start_ns);
	*at++ = '\n';
	return (size_t)(at - out);
}

size_t format_csv_header(enum iotr_stream stream, char *out)
{
	const struct iotr_schema *schema = &iotr_schemas[stream];
	char *at = out;

	for (size_t i = 0; i < schema->column_count; i++) {
		at = stpcpy(at, schema->columns[i].name);
		*at++ = ',';
	}
	at[-1] = '\n';
	return (size_t)(at - out);
}
