// SPDX-License-Identifier: GPL-2.0-or-later
#include "cells.h"

#include <string.h>

#include "escape.h"

static const cells_filler fillers[IOTR_STREAM_COUNT] = {
	[IOTR_VFS] = cells_fill_vfs,
	[IOTR_BLOCK] = cells_fill_block,
};

/* The columns that all streams begin and end with stand at the same places from either end. */
enum {
	FIRST_COUNT = VFS_command + 1,
	LAST_COUNT = VFS_COLUMN_COUNT - VFS_ppid,
};

static const size_t column_counts[IOTR_STREAM_COUNT] = {
	[IOTR_VFS] = VFS_COLUMN_COUNT,
	[IOTR_BLOCK] = BLOCK_COLUMN_COUNT,
};

_Static_assert((int)BLOCK_command + 1 == FIRST_COUNT, "streams begin alike");
_Static_assert(BLOCK_COLUMN_COUNT - BLOCK_ppid == LAST_COUNT, "streams end alike");

static void measure_operations(struct cells *cells)
{
	for (int stream = 0; stream < IOTR_STREAM_COUNT; stream++) {
		const struct iotr_schema *schema = &iotr_schemas[stream];

		for (size_t i = 0; i < schema->operation_count; i++)
			cells->operation_lengths[stream][i] = (uint8_t)strlen(schema->operations[i]);
	}
}

void cells_init(struct cells *cells)
{
	cells->realtime_offset = 0;
	cells->flags_used = 0;
	cells->fs_type = NULL;
	measure_operations(cells);
	memset(cells->flags, 0, sizeof(cells->flags));
	memset(cells->commands, 0, sizeof(cells->commands));
	disks_init(&cells->disks, "/sys/dev/block");
}

struct cell cell_string(const char *text)
{
	return cell_bytes(text, strlen(text), false);
}

static uint64_t mix(uint64_t value)
{
	return value * 0x9e3779b97f4a7c15ULL >> 32;
}

static void escape_command(struct cells_command *slot, const char *command)
{
	memcpy(slot->command, command, IOTR_COMMAND_SIZE);
	slot->quote = false;
	slot->length = (uint32_t)escape_text(command, strnlen(command, IOTR_COMMAND_SIZE),
					     slot->text, &slot->quote);
	slot->valid = true;
}

static struct cell cell_command(struct cells *cells, const char *command)
{
	uint64_t halves[2];
	struct cells_command *slot;

	memcpy(halves, command, sizeof(halves));
	slot = &cells->commands[mix(halves[0] + 3 * halves[1]) % CELLS_COMMANDS_CACHED];
	if (memcmp(slot->command, command, IOTR_COMMAND_SIZE) != 0 || !slot->valid)
		escape_command(slot, command);
	return cell_bytes(slot->text, slot->length, slot->quote);
}

static size_t decode(enum cells_flags_kind which, enum iotr_flag_kind kind, uint32_t file_flags,
		     uint32_t flags, char *text)
{
	switch (which) {
	case CELLS_FLAGS_PROTECTION:
		return flags_protection(flags, text);
	case CELLS_FLAGS_MAPPING:
		return flags_mapping(flags, text);
	case CELLS_FLAGS_BLOCK:
		return flags_block(flags, text);
	default:
		return flags_vfs(kind, file_flags, flags, text);
	}
}

struct cell cell_flags(struct cells *cells, enum cells_flags_kind which, enum iotr_flag_kind kind,
		       uint32_t file_flags, uint32_t flags)
{
	uint32_t group = (uint32_t)which << 8 | kind;
	uint64_t hash = mix(((uint64_t)file_flags << 32 | flags) + group * 0x1000193ULL);
	struct cells_flags *slot = &cells->flags[hash % CELLS_FLAGS_CACHED];
	char *text = cells->flags_text + cells->flags_used;
	size_t length;

	if (slot->valid && slot->group == group && slot->file_flags == file_flags &&
	    slot->flags == flags)
		return cell_bytes(slot->text, slot->length, false);
	length = decode(which, kind, file_flags, flags, text);
	cells->flags_used += length;
	if (length > sizeof(slot->text))
		return cell_bytes(text, length, false);
	*slot = (struct cells_flags){ .valid = true, .group = group, .file_flags = file_flags,
				      .flags = flags, .length = (uint32_t)length };
	memcpy(slot->text, text, length);
	return cell_bytes(text, length, false);
}

static struct cell cell_operation(const struct cells *cells, const struct iotr_record *head)
{
	const struct iotr_schema *schema = &iotr_schemas[head->stream];

	if (head->operation >= schema->operation_count)
		return cell_empty();
	return cell_bytes(schema->operations[head->operation],
			  cells->operation_lengths[head->stream][head->operation], false);
}

static void fill_head(struct cells *cells, const struct iotr_record *head, struct cell *cell)
{
	cell[VFS_timestamp] =
		cell_number(CELL_TIME, head->start_ns + (uint64_t)cells->realtime_offset);
	cell[VFS_operation] = cell_operation(cells, head);
	cell[VFS_pid] = cell_number(CELL_U64, head->pid);
	cell[VFS_tid] = cell_number(CELL_U64, head->tid);
	cell[VFS_command] = cell_command(cells, head->command);
}

static void fill_tail(const struct iotr_record *head, struct cell *last)
{
	last[VFS_ppid - VFS_ppid] = cell_number(CELL_U64, head->ppid);
	last[VFS_uid - VFS_ppid] = cell_number(CELL_U64, head->uid);
	last[VFS_cgroup_id - VFS_ppid] = cell_known(CELL_U64, head->cgroup_id);
	last[VFS_cpu_id - VFS_ppid] = cell_number(CELL_U64, head->cpu);
	last[VFS_mono_ns - VFS_ppid] = cell_number(CELL_U64, head->start_ns);
}

size_t cells_fill(struct cells *cells, const struct row *row, struct cell cell[CELLS_MAX])
{
	const struct iotr_record *head = row->record;
	size_t count = column_counts[head->stream];

	cells->flags_used = 0;
	fill_head(cells, head, cell);
	fillers[head->stream](cells, row, cell);
	fill_tail(head, cell + count - LAST_COUNT);
	return count;
}
