/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The catalogue of events.def as constant tables: names, CSV columns, types, units, docs.
 * Constant data, usable from any thread.
 */
#pragma once

#include <stddef.h>

#include "anonymize.h"
#include "events.h"

enum iotr_type {
	IOTR_TYPE_TIME,   /* YYYY-MM-DD HH:MM:SS.nnnnnnnnn, UTC */
	IOTR_TYPE_WORD,    /* of the kernel or of this program, never one that somebody made up */
	IOTR_TYPE_TEXT,	   /* this and the other texts: bytes, escaped */
	IOTR_TYPE_PATH,
	IOTR_TYPE_COMMAND,
	IOTR_TYPE_ADDRESS, /* of IP, or the name of a Unix socket */
	IOTR_TYPE_VALUE,   /* of an option: a number, or any text */
	IOTR_TYPE_U64,
	IOTR_TYPE_S64,
	IOTR_TYPE_HEX,    /* 0x... */
	IOTR_TYPE_MS,     /* milliseconds with six decimals */
	IOTR_TYPE_DEVICE, /* major:minor */
	IOTR_TYPE_FLAGS,  /* names joined by '|', unknown bits in hex */
	IOTR_TYPE_COUNT,
};

struct iotr_column {
	const char *name;
	enum iotr_type type;
	const char *unit; /* "" when there is none */
	const char *doc;
};

struct iotr_schema {
	const char *flag;    /* "vfs": the option without its dashes */
	const char *folder;  /* "fs": segments are fs/fs_000001.csv */
	const char *doc;
	const char *const *operations; /* by number */
	size_t operation_count;
	const struct iotr_column *columns; /* all of a row, in order */
	size_t column_count;
};

/* One entry per stream, indexed by enum iotr_stream. */
extern const struct iotr_schema iotr_schemas[IOTR_STREAM_COUNT];

/* Snapshots: a folder of each kind. */
struct iotr_snapshot_schema {
	const char *folder;
	const struct iotr_column *columns; /* of a table; NULL: it is none */
	size_t column_count;
};

enum { IOTR_SNAPSHOT_SCHEMAS = 3 };

extern const struct iotr_snapshot_schema iotr_snapshot_schemas[IOTR_SNAPSHOT_SCHEMAS];

/* The header of a table, as text, from its list in events.def. */
#define IOTR_HEADER_NAME(table, name, type, unit, doc) "," #name
#define IOTR_HEADER(COLUMNS) (COLUMNS(IOTR_HEADER_NAME) "\n" + 1)

/* Name of a column type, as manifest and `streams` show it. */
const char *iotr_type_name(enum iotr_type type);

/* What becomes of a column of this type when a trace is anonymised. */
enum iotr_privacy iotr_type_privacy(enum iotr_type type);

/* Stream by its flag ("vfs"), or -ENOENT. */
int iotr_stream_find(const char *flag);

/* Operation of a stream by its name ("READ", any case), or -ENOENT. */
int iotr_operation_find(enum iotr_stream stream, const char *name);
