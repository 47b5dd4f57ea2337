// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "cells.h"

#define ERRNO_MAX    4095

static bool has_two_names(uint8_t operation)
{
	return operation == IOTR_VFS_RENAME || operation == IOTR_VFS_LINK ||
	       operation == IOTR_VFS_SYMLINK;
}

static struct cell filename(struct cells *cells, const struct row *row)
{
	if (has_two_names(row->record->operation))
		return cell_pair(cells, row);
	return cell_bytes(row->path.text, row->path.length, row->path.quote);
}

/* The same text stands at the same address. */
static struct cell fs_type(struct cells *cells, const struct row *row)
{
	if (cells->fs_type != row->fs_type) {
		cells->fs_type = row->fs_type;
		cells->fs_type_length = strlen(row->fs_type);
	}
	return cell_bytes(row->fs_type, cells->fs_type_length, false);
}

static uint64_t error_of(int64_t result)
{
	return result < 0 && result >= -ERRNO_MAX ? (uint64_t)-result : 0;
}

static struct cell bytes_completed(const struct iotr_vfs_record *record)
{
	if (!record->counts_bytes)
		return cell_empty();
	return cell_steady(
		cell_number(CELL_U64, record->result > 0 ? (uint64_t)record->result : 0));
}

static void fill_mapping(struct cells *cells, const struct iotr_vfs_record *record,
			 struct cell *cell)
{
	cell[VFS_mmap_prot] = cell_empty();
	cell[VFS_mmap_flags] = cell_empty();
	if (!record->has_mapping)
		return;
	cell[VFS_mmap_prot] = cell_flags(cells, CELLS_FLAGS_PROTECTION, 0, 0, record->protection);
	cell[VFS_mmap_flags] = cell_flags(cells, CELLS_FLAGS_MAPPING, 0, 0, record->mapping);
}

void cells_fill_vfs_result(struct cells *cells, const struct row *row, struct cell *cell)
{
	const struct iotr_vfs_record *record = (const void *)row->record;

	cell[VFS_return_value] = cell_signed(record->result);
	cell[VFS_errno] = cell_number(CELL_U64, error_of(record->result));
	fill_mapping(cells, record, cell);
	cell[VFS_address] = cell_known(CELL_HEX, record->address);
	cell[VFS_fd] = record->has_fd ? cell_signed(record->fd) : cell_empty();
	cell[VFS_fs_type] = fs_type(cells, row);
}

/* Of a row that maps nothing and has no address. */
static uint64_t result_id(struct cells *cells, const struct row *row)
{
	const struct iotr_vfs_record *record = (const void *)row->record;
	struct cells_key key = { {
		(uint64_t)record->result,
		(uint64_t)(uintptr_t)row->fs_type,
		(uint64_t)(uint32_t)record->fd << 8 | record->has_fd,
	} };

	return cells_key_id(cells->results, CELLS_RESULTS_CACHED, CELLS_PLACE_RESULT, key);
}

_Static_assert(VFS_fs_type - VFS_return_value == 6, "what is between them is of the result");

static uint32_t shown_flags(const struct iotr_vfs_record *record)
{
	return record->flag_kind == IOTR_FLAGS_NONE ? 0 : record->flags;
}

static uint32_t shown_file_flags(const struct iotr_vfs_record *record)
{
	return record->flag_kind == IOTR_FLAGS_FILE ? record->file.flags : 0;
}

static uint64_t file_id(struct cells *cells, const struct iotr_vfs_record *record)
{
	struct cells_key key = { {
		record->file.inode,
		(uint64_t)record->file.device << 32 | shown_file_flags(record),
		(uint64_t)shown_flags(record) << 32 | record->flag_kind,
	} };

	return cells_key_id(cells->files, CELLS_FILES_CACHED, CELLS_PLACE_FILE, key);
}

void cells_fill_vfs_file(struct cells *cells, const struct row *row, struct cell *cell)
{
	const struct iotr_vfs_record *record = (const void *)row->record;

	cell[VFS_inode] = cell_known(CELL_U64, record->file.inode);
	cell[VFS_device] = cell_device(record->file.device);
	cell[VFS_flags] = cell_empty();
	if (record->flag_kind != IOTR_FLAGS_NONE)
		cell[VFS_flags] = cell_flags(cells, CELLS_FLAGS_VFS, record->flag_kind,
					     shown_file_flags(record), shown_flags(record));
}

_Static_assert(VFS_flags - VFS_inode == 2, "the columns of a file stand together");

void cells_fill_vfs(struct cells *cells, const struct row *row, struct cell *cell)
{
	const struct iotr_vfs_record *record = (const void *)row->record;

	cell[VFS_filename] = filename(cells, row);
	cell[VFS_size] = cell_steady(cell_known(CELL_U64, record->size));
	cell[VFS_offset] = cell_known(CELL_U64, record->offset);
	cell[VFS_bytes_completed] = bytes_completed(record);
	cell[VFS_latency_ns] = cell_known(CELL_U64, record->head.latency_ns);
	if (cells->late)
		cell[VFS_inode] = cell_late(CELLS_FILE, 3, file_id(cells, record));
	else
		cells_fill_vfs_file(cells, row, cell);
	if (cells->late && !record->has_mapping && record->address == IOTR_UNKNOWN)
		cell[VFS_return_value] = cell_late(CELLS_RESULT, 7, result_id(cells, row));
	else
		cells_fill_vfs_result(cells, row, cell);
}
