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

static struct cell flags(struct cells *cells, const struct cells_file *file)
{
	if (file->flag_kind == IOTR_FLAGS_NONE)
		return cell_empty();
	return cell_flags(cells, CELLS_FLAGS_VFS, file->flag_kind, file->file_flags, file->flags);
}

static struct cells_file file_of(const struct iotr_vfs_record *record)
{
	return (struct cells_file){
		.inode = record->file.inode,
		.device = record->file.device,
		.file_flags = record->flag_kind == IOTR_FLAGS_FILE ? record->file.flags : 0,
		.flags = record->flag_kind == IOTR_FLAGS_NONE ? 0 : record->flags,
		.flag_kind = record->flag_kind,
	};
}

/* The id under which the three columns of this file were shown before, or a new one. */
static uint32_t file_id(struct cells *cells, const struct cells_file *file)
{
	uint64_t hash = cells_hash(file->inode + 31 * (uint64_t)file->flags);
	struct cells_file_slot *slot = &cells->files[hash % CELLS_FILES_CACHED];

	if (slot->id && cells_same(&slot->file, file, sizeof(*file)))
		return slot->id;
	slot->file = *file;
	slot->id = cells_new_id(cells);
	return slot->id;
}

static void fill_file(struct cells *cells, const struct iotr_vfs_record *record, struct cell *cell)
{
	struct cells_file file = file_of(record);
	struct cell inode = cell_known(CELL_U64, file.inode);

	cell[VFS_inode] = cell_span(inode, file_id(cells, &file), 3);
	cell[VFS_device] = cell_device(file.device);
	cell[VFS_flags] = flags(cells, &file);
}

_Static_assert(VFS_flags - VFS_inode == 2, "the columns of a file stand together");

void cells_fill_vfs(struct cells *cells, const struct row *row, struct cell *cell)
{
	const struct iotr_vfs_record *record = (const void *)row->record;

	cell[VFS_filename] = filename(cells, row);
	cell[VFS_size] = cell_steady(cell_known(CELL_U64, record->size));
	cell[VFS_offset] = cell_known(CELL_U64, record->offset);
	cell[VFS_bytes_completed] = bytes_completed(record);
	fill_file(cells, record, cell);
	cell[VFS_latency_ns] = cell_known(CELL_U64, record->head.latency_ns);
	cell[VFS_return_value] = cell_steady(cell_signed(record->result));
	cell[VFS_errno] = cell_steady(cell_number(CELL_U64, error_of(record->result)));
	fill_mapping(cells, record, cell);
	cell[VFS_address] = cell_known(CELL_HEX, record->address);
	cell[VFS_fd] = record->has_fd ? cell_signed(record->fd) : cell_empty();
	cell[VFS_fs_type] = fs_type(cells, row);
}
