/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The catalogue of streams.def and events.def as constant tables: names, CSV columns, types, units, docs.
 * Constant data, usable from any thread.
 */
#pragma once

#include <stddef.h>

#include "anonymize.h"
#include "events.h"

enum iotr_type {
	IOTR_TYPE_TIME,   /* YYYY-MM-DD HH:MM:SS.nnnnnnnnn, UTC */
	IOTR_TYPE_WORD,    /* a word of the kernel or of this program, never a name that a user chose */
	IOTR_TYPE_TEXT,	   /* this and the following kinds of text: any bytes, escaped */
	IOTR_TYPE_PATH,
	IOTR_TYPE_NAME, /* one that somebody chose, as a component of a path is */
	IOTR_TYPE_COMMAND,
	IOTR_TYPE_ADDRESS, /* an IP address, or the name of a Unix socket */
	IOTR_TYPE_VALUE,   /* value of an option: a number, or any text */
	IOTR_TYPE_U64,
	IOTR_TYPE_S64,
	IOTR_TYPE_HEX,    /* #0x... */
	IOTR_TYPE_MS,     /* milliseconds with six decimals */
	IOTR_TYPE_DEVICE, /* major:minor, the latter with at least three digits */
	IOTR_TYPE_FLAGS,  /* names joined by '|', unknown bits in hex, as #0x20; NONE: no flag */
	IOTR_TYPE_COUNT,
};

struct iotr_column {
	const char *name;
	enum iotr_type type;
	const char *unit; /* "" when there is none */
	const char *doc;
};

/* Bits for the facts in rows that filters check. */
enum iotr_fact {
	IOTR_FACT_PROCESS = 1,
	IOTR_FACT_FILE = 2, /* a file or a disk, so the row has a device */
	IOTR_FACT_LATENCY = 4,
	IOTR_FACT_SIZE = 8,
	IOTR_FACT_ERROR = 16,
};

struct iotr_schema {
	const char *flag;    /* "vfs": name of the option without dashes */
	const char *folder;  /* "fs": its segments are fs/fs_000001.csv */
	const char *doc;
	const char *const *operations; /* index: number of the operation */
	size_t operation_count;
	const struct iotr_column *columns; /* all columns of a row, in order */
	size_t column_count;
	unsigned int facts; /* bits of enum iotr_fact */
};

/* One entry per stream, indexed by enum iotr_stream. */
extern const struct iotr_schema iotr_schemas[IOTR_STREAM_COUNT];

/* Kinds of snapshots, and the table of cgroups, which is listed with them; each has a folder. */
struct iotr_snapshot_schema {
	const char *folder;
	const struct iotr_column *columns; /* of its table; NULL: the kind is no table */
	size_t column_count;
};

enum { IOTR_SNAPSHOT_SCHEMAS = 4 };

extern const struct iotr_snapshot_schema iotr_snapshot_schemas[IOTR_SNAPSHOT_SCHEMAS];

/* The header line of a table as text, made from its list in events.def. */
#define IOTR_HEADER_NAME(table, name, type, unit, doc) "," #name
#define IOTR_HEADER(COLUMNS) (COLUMNS(IOTR_HEADER_NAME) "\n" + 1)

/* Name of a column type in the manifest and in the output of `streams`. */
const char *iotr_type_name(enum iotr_type type);

/* How columns of this type are anonymised. */
enum iotr_privacy iotr_type_privacy(enum iotr_type type);

/* Returns the stream with that flag ("vfs"), or -ENOENT. */
int iotr_stream_find(const char *flag);

/* Returns the stream's operation of that name ("READ", case is ignored), or -ENOENT. */
int iotr_operation_find(enum iotr_stream stream, const char *name);
