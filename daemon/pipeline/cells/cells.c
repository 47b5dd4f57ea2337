// SPDX-License-Identifier: GPL-2.0-or-later
/* The columns that every stream has, and which function fills a stream's own. */
#include "cells_private.h"

#include "escape.h"
#include "socket.h"

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

_Static_assert(sizeof(struct iotr_record) - CELLS_HEAD_TASK == sizeof(struct cells_task) &&
		       offsetof(struct iotr_record, pid) - CELLS_HEAD_TASK ==
			       offsetof(struct cells_task, pid) &&
		       offsetof(struct iotr_record, uid) - CELLS_HEAD_TASK ==
			       offsetof(struct cells_task, uid) &&
		       offsetof(struct iotr_record, command) - CELLS_HEAD_TASK ==
			       offsetof(struct cells_task, command),
	       "the end of a record's head is the task");

static void keep_task(struct cells_task_slot *slot, const struct iotr_record *head)
{
	size_t length = strnlen(head->command, IOTR_COMMAND_SIZE);

	memcpy(&slot->task, (const char *)head + CELLS_HEAD_TASK, sizeof(slot->task));
	slot->valid = true;
	slot->length = (uint8_t)escape_field(head->command, length, slot->text);
}

static const struct cells_task_slot *find_task(struct cells *cells, const struct iotr_record *head)
{
	struct cells_task_slot *slot = &cells->tasks[cells_hash(head->tid) % CELLS_TASKS_CACHED];

	if (!slot->valid || !cells_same_task(&slot->task, head))
		keep_task(slot, head);
	return slot;
}

static struct cell cell_operation(struct cells *cells, const struct iotr_record *head)
{
	const struct iotr_schema *schema = &iotr_schemas[head->stream];

	if (head->operation >= schema->operation_count) /* not in the catalogue */
		return cell_named(cells, NULL, head->operation);
	return cell_bytes(schema->operations[head->operation],
			  cells->operation_lengths[head->stream][head->operation]);
}

static void fill_first(struct cells *cells, const struct iotr_record *head,
		       const struct cells_task_slot *task, struct cell *cell)
{
	cell[FIRST_timestamp] =
		cell_number(CELL_TIME, head->start_ns + (uint64_t)cells->realtime_offset);
	cell[FIRST_operation] = cell_operation(cells, head);
	cell[FIRST_pid] = cell_number(CELL_U64, head->pid);
	cell[FIRST_tid] = cell_number(CELL_U64, head->tid);
	cell[FIRST_command] = cell_bytes(task->text, task->length);
}

static void fill_last(const struct iotr_record *head, struct cell *cell)
{
	cell[LAST_ppid] = cell_number(CELL_U64, head->ppid);
	cell[LAST_uid] = cell_number(CELL_U64, head->uid);
	cell[LAST_cgroup_id] = cell_known(CELL_U64, head->cgroup_id);
	cell[LAST_cpu_id] = cell_number(CELL_U64, head->cpu);
	cell[LAST_mono_ns] = cell_number(CELL_MONO, head->start_ns);
}

size_t cells_fill(struct cells *cells, const struct row *row, struct cell cell[CELLS_MAX])
{
	const struct iotr_record *head = row->record;
	size_t end = ends[head->stream];

	cells->flags_used = 0;
	fill_first(cells, head, find_task(cells, head), cell);
	fillers[head->stream](cells, row, cell);
	fill_last(head, cell + end);
	return end + LAST_COUNT;
}
