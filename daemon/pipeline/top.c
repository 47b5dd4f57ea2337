// SPDX-License-Identifier: GPL-2.0-or-later
#include "top.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "moves.h"
#include "table.h"
#include "two_names.h"

#define FNV_BASIS 0xcbf29ce484222325ULL
#define FNV_PRIME 0x100000001b3ULL

#define PAGE_BYTES 4096

struct top {
	unsigned int by;
	top_namer namer;
	top_stacked stacked;
	void *userdata;
	struct table table;
	struct top_group *groups[TOP_GROUPS_MAX];
	size_t count;
	uint64_t rows;
	uint64_t others;
	char pair[TWO_NAMES_MAX]; /* of the row that is added */
};

int top_new(unsigned int by, top_namer namer, top_stacked stacked, void *userdata, struct top **ret)
{
	struct top *top = calloc(1, sizeof(*top));

	if (!top || table_init(&top->table) < 0) {
		free(top);
		return -ENOMEM;
	}
	top->by = by;
	top->namer = namer;
	top->stacked = stacked;
	top->userdata = userdata;
	*ret = top;
	return 0;
}

void top_free(struct top *top)
{
	if (!top)
		return;
	for (size_t i = 0; i < top->count; i++)
		free(top->groups[i]);
	table_done(&top->table);
	free(top);
}

static uint64_t mix(uint64_t hash, const void *data, size_t size)
{
	const unsigned char *at = data;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ at[i]) * FNV_PRIME;
	return hash;
}

/* Up to the last slash, but "/" itself; a name without one is in no directory that is known. */
static struct row_text directory_of(struct row_text path)
{
	while (path.length && path.text[path.length - 1] != '/')
		path.length--;
	if (path.length > 1)
		path.length--;
	return path;
}

/* The file of a row, or both of an operation on two names, as the column has them. */
static struct row_text file_of(struct top *top, const struct row *row)
{
	if (!two_names(row->record))
		return row->path;
	return (struct row_text){ top->pair, (uint32_t)two_names_join(row, top->pair) };
}

/* What the row's group is called; valid until the next row. */
static struct row_text text_of(struct top *top, const struct row *row)
{
	if (top->by & TOP_BY_FILE)
		return file_of(top, row);
	if (top->by & TOP_BY_DIRECTORY)
		return directory_of(row->path);
	if (top->by & TOP_BY_NAME)
		return top->namer(row, top->userdata);
	return (struct row_text){ .text = "" };
}

static bool is_stacked(const struct top *top, const struct row *row)
{
	return row->record->stream == IOTR_BLOCK && top->stacked && top->stacked(row, top->userdata);
}

/* The key of the row's group. Two groups with one key are as good as impossible, and would be shown as one. */
static uint64_t key_of(const struct top *top, const struct row *row, const struct row_text *text)
{
	const struct iotr_record *record = row->record;
	uint64_t hash = mix(FNV_BASIS, &record->stream, sizeof(record->stream));
	bool stacked = is_stacked(top, row);

	hash = mix(hash, &stacked, sizeof(stacked));
	if (top->by & TOP_BY_PROCESS)
		hash = mix(hash, &record->pid, sizeof(record->pid));
	if (top->by & TOP_BY_OPERATION)
		hash = mix(hash, &record->operation, sizeof(record->operation));
	return mix(hash, text->text, text->length);
}

/* The path's length, at most TOP_PATH_MAX, not cut within a character. */
static uint32_t cut_length(const struct row_text *path)
{
	uint32_t length = path->length;

	if (length <= TOP_PATH_MAX)
		return length;
	length = TOP_PATH_MAX;
	while (length && ((unsigned char)path->text[length] & 0xc0) == 0x80)
		length--;
	return length;
}

static struct top_group *add_group(struct top *top, uint64_t key, const struct row *row,
				   const struct row_text *text)
{
	uint32_t length = cut_length(text);
	struct top_group *group = NULL;

	if (top->count < TOP_GROUPS_MAX)
		group = calloc(1, sizeof(*group) + length);
	if (!group || table_set(&top->table, key, group) < 0) {
		free(group);
		return NULL;
	}
	group->pid = row->record->pid;
	group->stream = row->record->stream;
	group->operation = row->record->operation;
	group->stacked = is_stacked(top, row);
	memcpy(group->command, row->record->command, sizeof(group->command));
	group->path_length = length;
	if (length)
		memcpy(group->path, text->text, length);
	top->groups[top->count++] = group;
	return group;
}

static uint64_t positive(int64_t value)
{
	return value > 0 ? (uint64_t)value : 0;
}

/* The bytes that an operation which moves data did. */
static uint64_t bytes_of(const struct iotr_record *record)
{
	const struct iotr_vfs_record *vfs = (const void *)record;
	const struct iotr_block_record *block = (const void *)record;
	const struct iotr_net_record *net = (const void *)record;
	const struct iotr_iouring_record *iouring = (const void *)record;
	const struct iotr_cache_record *cache = (const void *)record;

	switch (record->stream) {
	case IOTR_VFS:
		return vfs->counts_bytes ? positive(vfs->result) : 0;
	case IOTR_BLOCK:
		return block->error ? 0 : block->size;
	case IOTR_NET:
		return net->bytes == IOTR_UNKNOWN ? 0 : net->bytes;
	case IOTR_IOURING:
		return positive(iouring->result);
	case IOTR_CACHE:
		return cache->count * PAGE_BYTES;
	default:
		return 0;
	}
}

static void add_bytes(struct top_group *group, const struct iotr_record *record)
{
	unsigned int moves = iotr_moves(record->stream, record->operation);

	if (moves & IOTR_MOVES_READ)
		group->read += bytes_of(record);
	if (moves & IOTR_MOVES_WRITTEN)
		group->written += bytes_of(record);
}

void top_add(struct top *top, const struct row *row)
{
	struct row_text text = text_of(top, row);
	uint64_t key = key_of(top, row, &text), latency = row->record->latency_ns;
	struct top_group *group = table_get(&top->table, key) ?: add_group(top, key, row, &text);

	top->rows++;
	if (!group) {
		top->others++;
		return;
	}
	if (latency == IOTR_UNKNOWN)
		latency = 0;
	group->rows++;
	add_bytes(group, row->record);
	group->latency_ns += latency;
	if (latency > group->latency_max_ns)
		group->latency_max_ns = latency;
}

/* The order that was asked for, then the others. */
static int compare(const struct top_group *left, const struct top_group *right, enum top_order order)
{
	const uint64_t a[] = { [TOP_ROWS] = left->rows, [TOP_BYTES] = left->read + left->written,
			       [TOP_LATENCY] = left->latency_ns };
	const uint64_t b[] = { [TOP_ROWS] = right->rows, [TOP_BYTES] = right->read + right->written,
			       [TOP_LATENCY] = right->latency_ns };

	if (a[order] != b[order])
		return a[order] < b[order] ? 1 : -1;
	for (int i = 0; i < TOP_ORDER_COUNT; i++)
		if (a[i] != b[i])
			return a[i] < b[i] ? 1 : -1;
	return 0;
}

#define COMPARE(name, order)                                                                       \
	static int name(const void *left, const void *right)                                       \
	{                                                                                          \
		return compare(*(struct top_group *const *)left,                                   \
			       *(struct top_group *const *)right, order);                          \
	}
COMPARE(by_rows, TOP_ROWS)
COMPARE(by_bytes, TOP_BYTES)
COMPARE(by_latency, TOP_LATENCY)

size_t top_sort(struct top *top, enum top_order order, const struct top_group *const **groups)
{
	static int (*const by[])(const void *, const void *) = {
		[TOP_ROWS] = by_rows, [TOP_BYTES] = by_bytes, [TOP_LATENCY] = by_latency
	};

	qsort(top->groups, top->count, sizeof(top->groups[0]), by[order]);
	*groups = (const struct top_group *const *)top->groups;
	return top->count;
}

uint64_t top_rows(const struct top *top)
{
	return top->rows;
}

uint64_t top_others(const struct top *top)
{
	return top->others;
}
