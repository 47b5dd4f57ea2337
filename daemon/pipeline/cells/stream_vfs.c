// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "cells_private.h"
#include "two_names.h"

#define ERRNO_MAX 4095

static struct cell bytes_completed(const struct iotr_vfs_record *record)
{
	if (!record->counts_bytes)
		return cell_empty();
	return cell_again(cell_number(CELL_U64, record->result > 0 ? (uint64_t)record->result : 0));
}

CELLS_RECORD(VFS, struct iotr_vfs_record);

CELL(VFS, filename, two_names(&record->head) ? cell_pair(cells, row) : cell_path(row))
CELL(VFS, size, cell_again(cell_number(record->has_size ? CELL_U64 : CELL_EMPTY, record->size)))
CELL(VFS, offset, cell_known(CELL_U64, record->offset))
CELL(VFS, bytes_completed, bytes_completed(record))
CELL(VFS, latency_ns, cell_known(CELL_U64, record->head.latency_ns))
CELL(VFS, return_value, cell_again(cell_result(record->result)))
CELL(VFS, flow, cell_flow(record->flow))

/* ---- columns of the file ---- */

/* All values that these columns show. */
struct file_values {
	uint64_t inode;
	uint32_t device;
	uint32_t file_flags; /* those that the operation shows; 0: none */
	uint32_t flags;
	uint32_t flag_kind;
};

static struct csv_file_key file_key(const struct iotr_vfs_record *record)
{
	uint32_t file_flags = record->flag_kind == IOTR_FLAGS_FILE ? record->file.flags : 0;
	uint32_t flags = record->flag_kind == IOTR_FLAGS_NONE ? 0 : record->flags;

	return (struct csv_file_key){ record->file.inode, record->file.device | (uint64_t)file_flags << 32,
				      flags | (uint64_t)record->flag_kind << 32 };
}

static struct file_values file_of(struct csv_file_key key)
{
	return (struct file_values){
		.inode = key.inode,
		.device = (uint32_t)key.device_and_file_flags,
		.file_flags = key.device_and_file_flags >> 32,
		.flags = (uint32_t)key.flags_and_kind,
		.flag_kind = key.flags_and_kind >> 32,
	};
}

static struct cell flags(struct cells *cells, const struct file_values *file)
{
	if (file->flag_kind == IOTR_FLAGS_NONE)
		return cell_empty();
	return cell_flags(cells, CELLS_FLAGS_VFS, file->flag_kind, file->file_flags, file->flags);
}

#define FILE_CELL(column, value) CELL_FROM(struct file_values, file, VFS, column, value)

FILE_CELL(inode, cell_known(CELL_U64, file->inode))
FILE_CELL(device, cell_device(file->device))
FILE_CELL(flags, flags(cells, file))

CSV_RARE static char *write_file(struct csv *csv, struct cells *cells, const struct row *row, struct csv_file *known,
				 struct csv_file_key key, char *out)
{
	struct file_values values = file_of(key), *from = &values;
	struct csv_digits digits = csv_no_digits();
	char *begin = out;

	IOTR_VFS_FILE_COLUMNS(CELL_CSV)
	known->key = key;
	csv_keep(&known->kept, begin, (size_t)(out - begin));
	return out;
}

/* Copies the text of a file that had a row lately. */
CSV_INLINE char *write_known_file(struct csv *csv, struct cells *cells, const struct row *row, char *out)
{
	struct csv_file_key key = file_key((const void *)row->record);
	uint64_t hash = csv_hash(key.inode + 31 * key.device_and_file_flags + 0x1000193 * key.flags_and_kind);
	struct csv_file *known = &csv->files[hash % CSV_FILES];

	if (known->kept.length && !((known->key.inode ^ key.inode) |
				    (known->key.device_and_file_flags ^ key.device_and_file_flags) |
				    (known->key.flags_and_kind ^ key.flags_and_kind)))
		return csv_copy(out, &known->kept);
	return write_file(csv, cells, row, known, key, out);
}

/* ---- columns of the result ---- */

struct result_values {
	const char *fs_type;
	int32_t fd;
	bool has_fd;
	uint16_t error;
	const struct iotr_vfs_record *mapping; /* whose mapping and address are shown; NULL: none */
};

static bool has_mapping(const struct iotr_vfs_record *record)
{
	return record->has_mapping || record->address != IOTR_UNKNOWN;
}

static uint16_t error_of(int64_t result)
{
	return result < 0 && result >= -ERRNO_MAX ? (uint16_t)-result : 0;
}

/* All values that these columns show for a row without a mapping and without an address. */
static struct csv_result_key result_key(const struct row *row)
{
	const struct iotr_vfs_record *record = (const void *)row->record;

	return (struct csv_result_key){ row->fs_type, (uint32_t)record->fd | (uint64_t)!!record->has_fd << 32 |
							      (uint64_t)error_of(record->result) << 48 };
}

static struct result_values result_of(struct csv_result_key key, const struct iotr_vfs_record *mapping)
{
	return (struct result_values){
		.fs_type = key.fs_type,
		.fd = (int32_t)(uint32_t)key.fd_and_error,
		.has_fd = key.fd_and_error >> 32 & 1,
		.error = (uint16_t)(key.fd_and_error >> 48),
		.mapping = mapping,
	};
}

static struct cell fs_type(struct cells *cells, const char *type)
{
	if (cells->fs_type != type) {
		cells->fs_type = type;
		cells->fs_type_length = strlen(type);
	}
	return cell_bytes(type, cells->fs_type_length);
}

static struct cell mapping_flags(struct cells *cells, enum cells_flags_kind which,
				 const struct iotr_vfs_record *mapping)
{
	if (!mapping || !mapping->has_mapping)
		return cell_empty();
	return cell_flags(cells, which, 0, 0,
			  which == CELLS_FLAGS_PROTECTION ? mapping->protection : mapping->mapping);
}

#define RESULT_CELL(column, value) CELL_FROM(struct result_values, values, VFS, column, value)

RESULT_CELL(errno, cell_number(values->error == IOTR_DIED ? CELL_EMPTY : CELL_U64, values->error))
RESULT_CELL(mmap_prot, mapping_flags(cells, CELLS_FLAGS_PROTECTION, values->mapping))
RESULT_CELL(mmap_flags, mapping_flags(cells, CELLS_FLAGS_MAPPING, values->mapping))
RESULT_CELL(address, values->mapping ? cell_known(CELL_HEX, values->mapping->address) : cell_empty())
RESULT_CELL(fd, cell_signed_if(values->has_fd, values->fd))
RESULT_CELL(fs_type, fs_type(cells, values->fs_type))

CSV_RARE static char *write_result(struct csv *csv, struct cells *cells, const struct row *row,
				   const struct result_values *from, char *out)
{
	struct csv_digits digits = csv_no_digits();

	IOTR_VFS_RESULT_COLUMNS(CELL_CSV)
	return out;
}

CSV_RARE static char *write_new_result(struct csv *csv, struct cells *cells, const struct row *row,
				       struct csv_result *known, struct csv_result_key key, char *out)
{
	struct result_values values = result_of(key, NULL);
	char *end = write_result(csv, cells, row, &values, out);

	known->key = key;
	csv_keep(&known->kept, out, (size_t)(end - out));
	return end;
}

/* Copies the text of such a result. A mapping or an address rarely comes again, so its text is not kept. */
CSV_INLINE char *write_known_result(struct csv *csv, struct cells *cells, const struct row *row, char *out)
{
	const struct iotr_vfs_record *record = (const void *)row->record;
	struct csv_result_key key = result_key(row);
	struct csv_result *known = &csv->results[csv_hash((uintptr_t)key.fs_type + 31 * key.fd_and_error) % CSV_RESULTS];

	if (has_mapping(record)) {
		struct result_values values = result_of(key, record);

		return write_result(csv, cells, row, &values, out);
	}
	if (known->kept.length && known->key.fs_type == key.fs_type && known->key.fd_and_error == key.fd_and_error)
		return csv_copy(out, &known->kept);
	return write_new_result(csv, cells, row, known, key, out);
}

/* ---- the row ---- */

static void fill_file(struct cells *cells, const struct row *row, struct cell *cell)
{
	struct file_values values = file_of(file_key((const void *)row->record)), *from = &values;

	IOTR_VFS_FILE_COLUMNS(CELL_PUT)
}

static void fill_result(struct cells *cells, const struct row *row, struct cell *cell)
{
	const struct iotr_vfs_record *record = (const void *)row->record;
	struct result_values values = result_of(result_key(row), has_mapping(record) ? record : NULL), *from = &values;

	IOTR_VFS_RESULT_COLUMNS(CELL_PUT)
}

void cells_fill_vfs(struct cells *cells, const struct row *row, struct cell *cell)
{
	const record_VFS *from = (const void *)row->record;

	IOTR_VFS_CALL_COLUMNS(CELL_PUT)
	fill_file(cells, row, cell);
	IOTR_VFS_END_COLUMNS(CELL_PUT)
	fill_result(cells, row, cell);
	IOTR_VFS_FLOW_COLUMNS(CELL_PUT)
}

char *csv_write_vfs(struct csv *csv, struct cells *cells, const struct row *row, char *out)
{
	const record_VFS *from = (const void *)row->record;
	struct csv_digits digits = csv_no_digits();

	IOTR_VFS_CALL_COLUMNS(CELL_CSV)
	out = write_known_file(csv, cells, row, out);
	IOTR_VFS_END_COLUMNS(CELL_CSV)
	out = write_known_result(csv, cells, row, out);
	IOTR_VFS_FLOW_COLUMNS(CELL_CSV)
	return out;
}
