// SPDX-License-Identifier: GPL-2.0-or-later
#include "schema.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

/*
 * Converts the name to text before it can be expanded: some names, such as errno, are macros of the C library.
 */
#define COLUMN(stream, name, type, unit, doc) { #name, IOTR_TYPE_##type, unit, doc },
#define OPERATION(stream, id, text) text,

#define TABLES(id, name, ...)                                                                   \
	static const char *const name##_operations[] = { IOTR_##id##_EVENTS(OPERATION) };       \
	static const struct iotr_column name##_columns[] = { IOTR_FIRST_COLUMNS(COLUMN)         \
		IOTR_##id##_COLUMNS(COLUMN) IOTR_LAST_COLUMNS(COLUMN) };
IOTR_STREAMS(TABLES)

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define SCHEMA(id, name, folder, object, calls, names, part, process, file, latency, size, error, doc)                 \
	[IOTR_##id] = { #name, folder, doc, name##_operations, LENGTH(name##_operations), name##_columns,              \
			LENGTH(name##_columns),                                                                        \
			(process) * IOTR_FACT_PROCESS | (file) * IOTR_FACT_FILE | (latency) * IOTR_FACT_LATENCY |      \
				(size) * IOTR_FACT_SIZE | (error) * IOTR_FACT_ERROR },

const struct iotr_schema iotr_schemas[IOTR_STREAM_COUNT] = { IOTR_STREAMS(SCHEMA) };

static const struct iotr_column files_columns[] = { IOTR_FILES_COLUMNS(COLUMN) };
static const struct iotr_column processes_columns[] = { IOTR_PROCESSES_COLUMNS(COLUMN) };
static const struct iotr_column cgroups_columns[] = { IOTR_CGROUPS_COLUMNS(COLUMN) };

const struct iotr_snapshot_schema iotr_snapshot_schemas[IOTR_SNAPSHOT_SCHEMAS] = {
	{ "filesystem_snapshot", files_columns, LENGTH(files_columns) },
	{ "process", processes_columns, LENGTH(processes_columns) },
	{ "system_spec", NULL, 0 },
	{ "cgroups", cgroups_columns, LENGTH(cgroups_columns) },
};

static const struct {
	const char *name;
	enum iotr_privacy privacy;
} types[IOTR_TYPE_COUNT] = {
	[IOTR_TYPE_TIME] = { "time", IOTR_PRIVACY_PUBLIC },
	[IOTR_TYPE_WORD] = { "string", IOTR_PRIVACY_PUBLIC },
	[IOTR_TYPE_TEXT] = { "text", IOTR_PRIVACY_TEXT },
	[IOTR_TYPE_PATH] = { "path", IOTR_PRIVACY_PATH },
	[IOTR_TYPE_NAME] = { "name", IOTR_PRIVACY_NAME },
	[IOTR_TYPE_COMMAND] = { "command", IOTR_PRIVACY_NAME },
	[IOTR_TYPE_ADDRESS] = { "address", IOTR_PRIVACY_ADDRESS },
	[IOTR_TYPE_VALUE] = { "value", IOTR_PRIVACY_VALUE },
	[IOTR_TYPE_U64] = { "u64", IOTR_PRIVACY_PUBLIC },
	[IOTR_TYPE_S64] = { "s64", IOTR_PRIVACY_PUBLIC },
	[IOTR_TYPE_HEX] = { "hex", IOTR_PRIVACY_PUBLIC },
	[IOTR_TYPE_MS] = { "milliseconds", IOTR_PRIVACY_PUBLIC },
	[IOTR_TYPE_DEVICE] = { "device", IOTR_PRIVACY_PUBLIC },
	[IOTR_TYPE_FLAGS] = { "flags", IOTR_PRIVACY_PUBLIC },
};

const char *iotr_type_name(enum iotr_type type)
{
	return types[type].name;
}

enum iotr_privacy iotr_type_privacy(enum iotr_type type)
{
	return types[type].privacy;
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
