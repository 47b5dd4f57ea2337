// SPDX-License-Identifier: GPL-2.0-or-later
/* The columns that every stream has, and which function fills a stream's own. */
#include "cells_private.h"

#include "escape.h"

#define FILLER(id, name, ...) [IOTR_##id] = cells_fill_##name,
#define END(id, ...)	      [IOTR_##id] = id##_END,

static const cells_filler fillers[IOTR_STREAM_COUNT] = { IOTR_STREAMS(FILLER) };
/* Indices after the last of a stream's own columns */
static const size_t ends[IOTR_STREAM_COUNT] = { IOTR_STREAMS(END) };

static void measure_operations(struct cells *cells)
{
	for (int stream = 0; stream < IOTR_STREAM_COUNT; stream++) {
		const struct iotr_schema *schema = &iotr_schemas[stream];

		for (size_t i = 0; i < schema->operation_count; i++)
			cells->operation_lengths[stream][i] =
				(uint8_t)strlen(schema->operations[i]);
	}
}

void cells_init(struct cells *cells)
{
	memset(cells, 0, offsetof(struct cells, flags_text));
	measure_operations(cells);
	disks_init(&cells->disks, "/sys/dev/block");
}

#define HEAD_TASK offsetof(struct iotr_record, cgroup_id)

_Static_assert(sizeof(struct iotr_record) - HEAD_TASK == sizeof(struct cells_task) &&
		       offsetof(struct iotr_record, pid) - HEAD_TASK ==
			       offsetof(struct cells_task, pid) &&
		       offsetof(struct iotr_record, uid) - HEAD_TASK ==
			       offsetof(struct cells_task, uid) &&
		       offsetof(struct iotr_record, command) - HEAD_TASK ==
			       offsetof(struct cells_task, command),
	       "the end of a record's head is the task");

static void keep_task(struct cells *cells, struct cells_task_slot *slot,
		      const struct iotr_record *head)
{
	bool quote = false;
	size_t length = strnlen(head->command, IOTR_COMMAND_SIZE);

	memcpy(&slot->task, (const char *)head + HEAD_TASK, sizeof(slot->task));
	slot->cpu = head->cpu;
	slot->id = cells_next_id(slot->id, CELLS_PLACE_TASK_END + (size_t)(slot - cells->tasks));
	slot->length = (uint8_t)escape_text(head->command, length, slot->text, &quote);
	slot->quote = quote;
}

static const struct cells_task_slot *find_task(struct cells *cells, const struct iotr_record *head)
{
	struct cells_task_slot *slot = &cells->tasks[cells_hash(head->tid) % CELLS_TASKS_CACHED];

	if (!slot->id || slot->cpu != head->cpu ||
	    !cells_same(&slot->task, (const char *)head + HEAD_TASK, sizeof(slot->task)))
		keep_task(cells, slot, head);
	return slot;
}

static struct cell cell_operation(const struct cells *cells, const struct iotr_record *head)
{
	const struct iotr_schema *schema = &iotr_schemas[head->stream];

	if (head->operation >= schema->operation_count) /* not in the catalogue */
		return cell_number(CELL_U64, head->operation);
	return cell_bytes(schema->operations[head->operation],
			  cells->operation_lengths[head->stream][head->operation], false);
}

static void fill_task(struct cells *cells, const struct row *row, struct cell *cell)
{
	const struct cells_task_slot *task = cells->task;

	cell[FIRST_operation] = cell_operation(cells, row->record);
	cell[FIRST_pid] = cell_number(CELL_U64, row->record->pid);
	cell[FIRST_tid] = cell_number(CELL_U64, row->record->tid);
	cell[FIRST_command] = cell_bytes(task->text, task->length, task->quote);
}

static void fill_task_end(struct cells *cells, const struct row *row, struct cell *cell)
{
	const struct iotr_record *head = row->record;
	struct cell *last = cell + ends[head->stream];

	(void)cells;
	last[LAST_ppid] = cell_number(CELL_U64, head->ppid);
	last[LAST_uid] = cell_number(CELL_U64, head->uid);
	last[LAST_cgroup_id] = cell_known(CELL_U64, head->cgroup_id);
	last[LAST_cpu_id] = cell_number(CELL_U64, head->cpu);
}

_Static_assert(FIRST_command - FIRST_operation == 3 && LAST_cpu_id - LAST_ppid == 3,
	       "the columns of a task stand together");

/* The id of the span at the beginning of a row; a task has one for each operation. */
static uint64_t beginning_id(const struct cells_task_slot *task, uint8_t operation)
{
	size_t place = CELLS_PLACE_TASK + (task->id + 17U * operation) % CELLS_BEGINNINGS;

	return (task->id << 8 | operation) * CELLS_PLACES + place;
}

static void fill_ends(struct cells *cells, const struct row *row, struct cell *cell)
{
	const struct iotr_record *head = row->record;
	struct cell *last = cell + ends[head->stream];

	cell[FIRST_timestamp] =
		cell_number(CELL_TIME, head->start_ns + (uint64_t)cells->realtime_offset);
	last[LAST_mono_ns] = cell_number(CELL_MONO, head->start_ns);
	if (cells->late) {
		cell[FIRST_operation] =
			cell_late(CELLS_TASK, 4, beginning_id(cells->task, head->operation));
		last[LAST_ppid] = cell_late(CELLS_TASK_END, 4, cells->task->id);
		return;
	}
	fill_task(cells, row, cell);
	fill_task_end(cells, row, cell);
}

static size_t fill(struct cells *cells, const struct row *row, struct cell *cell, bool late)
{
	uint8_t stream = row->record->stream;

	cells->row = row;
	cells->task = find_task(cells, row->record);
	cells->late = late;
	cells->flags_used = 0;
	fill_ends(cells, row, cell);
	fillers[stream](cells, row, cell);
	return ends[stream] + LAST_COUNT;
}

size_t cells_fill(struct cells *cells, const struct row *row, struct cell cell[CELLS_MAX])
{
	return fill(cells, row, cell, false);
}

size_t cells_fill_late(struct cells *cells, const struct row *row, struct cell cell[CELLS_MAX])
{
	return fill(cells, row, cell, true);
}

void cells_fill_span(struct cells *cells, struct cell *cell, size_t column)
{
	static const cells_filler span_fillers[CELLS_SPAN_COUNT] = {
		[CELLS_TASK] = fill_task,
		[CELLS_TASK_END] = fill_task_end,
		[CELLS_FILE] = cells_fill_vfs_file,
		[CELLS_RESULT] = cells_fill_vfs_result,
	};

	span_fillers[cell[column].which](cells, cells->row, cell);
}
