// SPDX-License-Identifier: GPL-2.0-or-later
#include "schema.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

/* Takes the name as text: some, as errno, are macros of the library. */
#define ROW(text, type, unit, doc) { text, IOTR_TYPE_##type, unit, doc },

/* EVENT and COLUMN rows name their stream: only those of the wanted one are kept. */
#define IF_VFS_VFS(...) __VA_ARGS__
#define IF_VFS_BLOCK(...)
#define IF_BLOCK_VFS(...)
#define IF_BLOCK_BLOCK(...) __VA_ARGS__

static const char *const vfs_operations[] = {
#define EVENT(stream, id, name) IF_VFS_##stream(name, )
#include "events.def"
};

static const char *const block_operations[] = {
#define EVENT(stream, id, name) IF_BLOCK_##stream(name, )
#include "events.def"
};

static const struct iotr_column vfs_columns[] = {
#define FIRST(name, type, unit, doc) ROW(#name, type, unit, doc)
#define COLUMN(stream, name, type, unit, doc) IF_VFS_##stream(ROW(#name, type, unit, doc))
#define LAST(name, type, unit, doc) ROW(#name, type, unit, doc)
#include "events.def"
};

static const struct iotr_column block_columns[] = {
#define FIRST(name, type, unit, doc) ROW(#name, type, unit, doc)
#define COLUMN(stream, name, type, unit, doc) IF_BLOCK_##stream(ROW(#name, type, unit, doc))
#define LAST(name, type, unit, doc) ROW(#name, type, unit, doc)
#include "events.def"
};

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define VFS_TABLES vfs_operations, LENGTH(vfs_operations), vfs_columns, LENGTH(vfs_columns)
#define BLOCK_TABLES block_operations, LENGTH(block_operations), block_columns, LENGTH(block_columns)

const struct iotr_schema iotr_schemas[IOTR_STREAM_COUNT] = {
#define STREAM(id, flag, folder, doc) [IOTR_##id] = { flag, folder, doc, id##_TABLES },
#include "events.def"
};

const char *iotr_type_name(enum iotr_type type)
{
	static const char *const names[IOTR_TYPE_COUNT] = {
		[IOTR_TYPE_TIME] = "time",	[IOTR_TYPE_STRING] = "string",
		[IOTR_TYPE_PATH] = "path",	[IOTR_TYPE_U64] = "u64",
		[IOTR_TYPE_S64] = "s64",	[IOTR_TYPE_HEX] = "hex",
		[IOTR_TYPE_MS] = "milliseconds", [IOTR_TYPE_DEVICE] = "device",
		[IOTR_TYPE_FLAGS] = "flags",
	};

	return names[type];
}

int iotr_stream_find(const char *flag)
{
	for (int stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		if (!strcmp(iotr_schemas[stream].flag, flag))
			return stream;
	return -ENOENT;
}

int iotr_operation_find(enum iotr_stream stream, const char *name)
{
	const struct iotr_schema *schema = &iotr_schemas[stream];

	for (size_t operation = 0; operation < schema->operation_count; operation++)
		if (!strcasecmp(schema->operations[operation], name))
			return (int)operation;
	return -ENOENT;
}
