// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "cells_private.h"

#define ERRNO_MAX 4095

static bool has_two_names(uint8_t operation)
{
	return operation == IOTR_VFS_RENAME || operation == IOTR_VFS_LINK ||
	       operation == IOTR_VFS_SYMLINK || operation == IOTR_VFS_MOUNT;
}

static struct cell bytes_completed(const struct iotr_vfs_record *record)
{
	if (!record->counts_bytes)
		return cell_empty();
	return cell_steady(
		cell_number(CELL_U64, record->result > 0 ? (uint64_t)record->result : 0));
}

CELLS_RECORD(VFS, struct iotr_vfs_record);

CELL(VFS, filename, has_two_names(record->head.operation) ? cell_pair(cells, row) : cell_path(row))
CELL(VFS, size, cell_steady(cell_number(record->has_size ? CELL_U64 : CELL_EMPTY, record->size)))
CELL(VFS, offset, cell_known(CELL_U64, record->offset))
CELL(VFS, bytes_completed, bytes_completed(record))
CELL(VFS, latency_ns, cell_known(CELL_U64, record->head.latency_ns))

/* ---- the span of the file ---- */

/* All values that the span's columns show. */
struct file_span {
	uint64_t inode;
	uint32_t device;
	uint32_t file_flags; /* those that the operation shows; 0: none */
	uint32_t flags;
	uint32_t flag_kind;
};

_Static_assert(sizeof(struct file_span) == sizeof(struct cells_key), "the key is the span, without a hole");

static struct file_span file_of(const struct iotr_vfs_record *record)
{
	return (struct file_span){
		.inode = record->file.inode,
		.device = record->file.device,
		.file_flags = record->flag_kind == IOTR_FLAGS_FILE ? record->file.flags : 0,
		.flags = record->flag_kind == IOTR_FLAGS_NONE ? 0 : record->flags,
		.flag_kind = record->flag_kind,
	};
}

static struct cell flags(struct cells *cells, const struct file_span *file)
{
	if (file->flag_kind == IOTR_FLAGS_NONE)
		return cell_empty();
	return cell_flags(cells, CELLS_FLAGS_VFS, file->flag_kind, file->file_flags, file->flags);
}

#define FILE_CELL(column, value) CELL_FROM(struct file_span, file, VFS, column, value)

FILE_CELL(inode, cell_known(CELL_U64, file->inode))
FILE_CELL(device, cell_device(file->device))
FILE_CELL(flags, flags(cells, file))

void cells_fill_vfs_file(struct cells *cells, const struct row *row, struct cell *cell)
{
	struct file_span span = file_of((const void *)row->record), *from = &span;

	IOTR_VFS_FILE_COLUMNS(CELL_PUT)
}

static struct cell file_late(struct cells *cells, const struct iotr_vfs_record *record)
{
	struct file_span span = file_of(record);
	struct cells_key key;

	memcpy(&key, &span, sizeof(key));
	return cell_late(CELLS_FILE, 0 IOTR_VFS_FILE_COLUMNS(CELLS_ONE),
			 cells_key_id(cells->files, CELLS_FILES_CACHED, CELLS_PLACE_FILE, key));
}

/* ---- the span of the result ---- */

/* All values that the span's columns show for a row without a mapping and without an address. */
struct result_key {
	int64_t result;
	const char *fs_type; /* the same text is always at the same address */
	int32_t fd;
	int32_t has_fd;
};

_Static_assert(sizeof(struct result_key) == sizeof(struct cells_key), "the key is that part of the span, without a hole");

struct result_span {
	struct result_key key;
	const struct iotr_vfs_record *mapping; /* whose mapping and address are shown; NULL: none */
};

static struct result_span result_of(const struct row *row)
{
	const struct iotr_vfs_record *record = (const void *)row->record;

	return (struct result_span){
		.key = {
			.result = record->result,
			.fs_type = row->fs_type,
			.fd = record->fd,
			.has_fd = record->has_fd,
		},
		.mapping = record->has_mapping || record->address != IOTR_UNKNOWN ? record : NULL,
	};
}

static struct cell fs_type(struct cells *cells, const char *type)
{
	if (cells->fs_type != type) {
		cells->fs_type = type;
		cells->fs_type_length = strlen(type);
	}
	return cell_bytes(type, cells->fs_type_length, false);
}

static uint64_t error_of(int64_t result)
{
	return result < 0 && result >= -ERRNO_MAX ? (uint64_t)-result : 0;
}

static struct cell mapping_flags(struct cells *cells, enum cells_flags_kind which, const struct iotr_vfs_record *mapping)
{
	if (!mapping || !mapping->has_mapping)
		return cell_empty();
	return cell_flags(cells, which, 0, 0,
			  which == CELLS_FLAGS_PROTECTION ? mapping->protection : mapping->mapping);
}

#define RESULT_CELL(column, value) CELL_FROM(struct result_span, span, VFS, column, value)

RESULT_CELL(return_value, cell_signed(span->key.result))
RESULT_CELL(errno, cell_number(CELL_U64, error_of(span->key.result)))
RESULT_CELL(mmap_prot, mapping_flags(cells, CELLS_FLAGS_PROTECTION, span->mapping))
RESULT_CELL(mmap_flags, mapping_flags(cells, CELLS_FLAGS_MAPPING, span->mapping))
RESULT_CELL(address, span->mapping ? cell_known(CELL_HEX, span->mapping->address) : cell_empty())
RESULT_CELL(fd, cell_signed_if(span->key.has_fd, span->key.fd))
RESULT_CELL(fs_type, fs_type(cells, span->key.fs_type))

static void fill_result(struct cells *cells, const struct row *row, const struct result_span *from, struct cell *cell)
{
	IOTR_VFS_RESULT_COLUMNS(CELL_PUT)
}

void cells_fill_vfs_result(struct cells *cells, const struct row *row, struct cell *cell)
{
	struct result_span span = result_of(row);

	fill_result(cells, row, &span, cell);
}

/* A mapping or an address rarely repeats, so the text of such a span is not kept. */
static void result_late(struct cells *cells, const struct row *row, struct cell *cell)
{
	struct result_span span = result_of(row);
	struct cells_key key;

	if (span.mapping) {
		fill_result(cells, row, &span, cell);
		return;
	}
	memcpy(&key, &span.key, sizeof(key));
	cell[VFS_return_value] =
		cell_late(CELLS_RESULT, 0 IOTR_VFS_RESULT_COLUMNS(CELLS_ONE),
			  cells_key_id(cells->results, CELLS_RESULTS_CACHED, CELLS_PLACE_RESULT, key));
}

/* ---- the row ---- */

void cells_fill_vfs(struct cells *cells, const struct row *row, struct cell *cell)
{
	const record_VFS *from = (const void *)row->record;

	IOTR_VFS_CALL_COLUMNS(CELL_PUT)
	IOTR_VFS_TIME_COLUMNS(CELL_PUT)
	if (cells->late) {
		cell[VFS_inode] = file_late(cells, from);
		result_late(cells, row, cell);
	} else {
		cells_fill_vfs_file(cells, row, cell);
		cells_fill_vfs_result(cells, row, cell);
	}
}
