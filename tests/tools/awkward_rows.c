// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes rows as sessions do, for programs that find out by themselves what columns hold:
 *
 *   iotr-awkward-rows DIR ROWS
 *
 * DIR/types.json     the columns of each stream, and the type of each
 * DIR/mixed/STREAM.csv  records of any bytes, with names of all kinds
 * DIR/alone/STREAM_NN.csv  rows that all have the same awkward name, so that nothing else in its column tells that it is one
 * DIR/big/fs_NNNNNN.csv  ROWS rows of vfs in two files; of the first all but the last tenth are as plain as can be
 * DIR/late/fs_000001.csv  rows of vfs whose size is empty, until long after where programs look for what columns hold
 * DIR/sums.json      of each column of those: values, sum of the numbers modulo 2^64, bytes of the texts
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench_rows.h"
#include "cells/cells.h"
#include "escape.h"
#include "format_csv.h"
#include "path.h"

enum {
	LINE_SIZE = 1 << 17,
	MIXED_ROWS = 4000,
	ALONE_ROWS = 100,
	LATE_EMPTY_ROWS = 30000, /* DuckDB looks at 20,480, ClickHouse at 25,000 */
	LATE_ROWS = 100,
	COLUMNS = 40,
};

static const char *const names[] = {
	"99", "-5", "+5", ".5", "1e5", "0x10", "0b11", "1_000", "99.5%", "7z", "2to3", "10:20", "8:16", "1:30", "12:30:00",
	"2024-01-01", "2024-01-01 10:00", "20240101T100", "1.5.2024", "Jan 1 2024", "dec10", "UTC 2024", "mon", "true", "FALSE",
	"t", "f", "yes", "n", "on", "nan", "NaN(1)", "-nan", "inf", "-Infinity", "null", "NULL", "None", "NONE", "NA", "n/a", "#N/A",
	"<NA>", "epoch", "now", "#99", "#", " a", "a ", " ", "'a'", "'", "it's", "\"q\"", "\"", "a,b", ",", ";;;;;;;;;;", "||||||||||",
	"\t", "a\nb", "\r", "\\N", "\\", "\\x41", "\xff\xfe", "\xc3\xa4", "\xe2\x80\xa8", "\xc2\xa0" "1", "[1]", "{}", "(1)", "-", ".",
	"+", "...", "->", "a -> b", "=1+1", "@1", "$1", "//", "kworker/0:1", "(sd-pam)", "mariadb10",
};

#define NAMES (sizeof(names) / sizeof(names[0]))

union record {
	struct iotr_record head;
	struct iotr_vfs_record vfs;
	struct iotr_conn_record conn;
	struct iotr_sockopt_record sockopt;
	char bytes[512];
};

#define RECORD_SIZE(id, name, ...) [IOTR_##id] = sizeof(struct iotr_##name##_record),
static const uint16_t sizes[] = { IOTR_STREAMS(RECORD_SIZE) };

static const char *folder;
static struct cells cells;
static char line[LINE_SIZE];
static uint64_t state = 1;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t draw(uint64_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % below;
}

static FILE *create(const char *name)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "we");
	if (!file)
		die(path);
	return file;
}

static void make_folder(const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		die(path);
}

static void finish(FILE *file)
{
	if (fflush(file) || ferror(file) || fclose(file))
		die("write");
}

static FILE *begin(const char *name, enum iotr_stream stream, struct csv *csv)
{
	FILE *file = create(name);

	format_csv_init(csv, stream, NULL);
	fwrite(line, 1, format_csv_header(stream, line), file);
	return file;
}

/* ---- rows ---- */

/* Bytes of any kind; the name wherever a record of the stream has one. */
static void make_record(union record *record, enum iotr_stream stream, const char *name, uint64_t number, bool plain)
{
	for (size_t i = 0; i < sizeof(record->bytes); i++)
		record->bytes[i] = (char)(plain || draw(2) ? 0 : draw(256));
	record->head.size = sizes[stream];
	record->head.stream = (uint8_t)stream;
	record->head.operation = (uint8_t)draw(iotr_schemas[stream].operation_count);
	record->head.start_ns = 1000000000 + number * 1001;
	memset(record->head.command, 0, sizeof(record->head.command));
	memcpy(record->head.command, name, strnlen(name, sizeof(record->head.command) - 1));
	if (stream == IOTR_CONN && plain) { /* the relative name of a Unix socket */
		record->conn.socket.family = 1;
		memcpy(record->conn.local_name, name, strlen(name));
		record->conn.local_length = (uint8_t)strlen(name);
	}
	if (stream == IOTR_SOCKOPT && plain) { /* TCP_CONGESTION, which is text */
		record->sockopt.level = 6;
		record->sockopt.option = 13;
		record->sockopt.size = (uint16_t)strlen(name);
		memcpy(record->sockopt.value, name, strlen(name));
	}
}

static struct row_text make_path(struct path *path, const char *name, bool relative)
{
	if (relative) {
		path_set_text(path, name, strlen(name));
	} else {
		path_set_text(path, "/srv", 4);
		path_append(path, name, strlen(name));
	}
	return (struct row_text){ path->text, path->length };
}

static void write_row(FILE *file, struct csv *csv, const union record *record, const char *name, bool relative)
{
	static struct path first, second;
	struct row row = { .record = &record->head, .fs_type = "ext4" };

	row.path = make_path(&first, name, relative);
	if (draw(2))
		row.path2 = make_path(&second, names[draw(NAMES)], false);
	fwrite(line, 1, format_csv_row(csv, &cells, &row, line), file);
}

static void write_mixed(enum iotr_stream stream)
{
	static struct csv csv;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "mixed/%s.csv", iotr_schemas[stream].flag);
	file = begin(path, stream, &csv);
	for (uint64_t i = 0; i < MIXED_ROWS; i++) {
		const char *name = names[draw(NAMES)];
		union record record;

		make_record(&record, stream, name, i, false);
		write_row(file, &csv, &record, name, !draw(4));
	}
	finish(file);
}

static void write_alone(enum iotr_stream stream, size_t which)
{
	static struct csv csv;
	union record record;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "alone/%s_%02zu.csv", iotr_schemas[stream].flag, which);
	file = begin(path, stream, &csv);
	for (uint64_t i = 0; i < ALONE_ROWS; i++) {
		make_record(&record, stream, names[which], i, true);
		write_row(file, &csv, &record, names[which], true);
	}
	finish(file);
}

/* ---- the big one ---- */

static struct {
	uint64_t values, sum;
} sums[COLUMNS];

static bool is_number(enum iotr_type type)
{
	return type == IOTR_TYPE_U64 || type == IOTR_TYPE_S64;
}

static void add_to_sums(const char *at)
{
	const struct iotr_schema *schema = &iotr_schemas[IOTR_VFS];

	for (size_t i = 0; i < schema->column_count; i++) {
		size_t length = strcspn(at, ",\n");

		if (length) {
			sums[i].values++;
			sums[i].sum += is_number(schema->columns[i].type) ? (uint64_t)strtoll(at, NULL, 10) : length;
		}
		at += length + 1;
	}
}

static struct row_text known_name(uint64_t id, bool awkward)
{
	static struct path path;
	char name[32];

	if (awkward)
		return make_path(&path, names[id % NAMES], false);
	snprintf(name, sizeof(name), "segment-%04u.dat", (unsigned int)(id % 1000));
	return make_path(&path, name, false);
}

static void write_big_row(FILE *file, struct csv *csv, uint64_t number, bool awkward)
{
	struct iotr_vfs_record record;
	struct row row = { .record = &record.head, .fs_type = "ext4" };
	size_t length;

	rows_make(&record, number, 1);
	record.has_size = 1;
	row.path = known_name(record.file.name, awkward);
	if (awkward) {
		const char *name = names[number % NAMES];

		memset(record.head.command, 0, sizeof(record.head.command));
		memcpy(record.head.command, name, strnlen(name, sizeof(record.head.command) - 1));
		record.head.tid = (uint32_t)(number % NAMES);
		record.size = number % 3 ? UINT64_MAX - 2 : (uint64_t)1 << 63;
		record.flags = (uint32_t)number;
	}
	length = format_csv_row(csv, &cells, &row, line);
	line[length] = '\0';
	fwrite(line, 1, length, file);
	add_to_sums(line);
}

static void write_big(uint64_t rows)
{
	static struct csv csv;

	for (int number = 1; number <= 2; number++) {
		char path[64];
		FILE *file;

		snprintf(path, sizeof(path), "big/fs_%06d.csv", number);
		file = begin(path, IOTR_VFS, &csv);
		for (uint64_t i = 0; i < rows / 2; i++)
			write_big_row(file, &csv, i, number == 2 ? i % 2 : i >= rows / 20 * 9);
		finish(file);
	}
}

/* Sizes that no double holds. */
static void write_late(void)
{
	static struct csv csv;
	FILE *file = begin("late/fs_000001.csv", IOTR_VFS, &csv);

	for (uint64_t i = 0; i < LATE_EMPTY_ROWS + LATE_ROWS; i++) {
		struct iotr_vfs_record record;
		struct row row = { .record = &record.head, .fs_type = "ext4" };

		rows_make(&record, i, 1);
		record.has_size = i >= LATE_EMPTY_ROWS;
		record.size = ((uint64_t)1 << 53) + 1 + 2 * i;
		row.path = known_name(record.file.name, false);
		fwrite(line, 1, format_csv_row(&csv, &cells, &row, line), file);
	}
	finish(file);
}

static void write_sums(void)
{
	const struct iotr_schema *schema = &iotr_schemas[IOTR_VFS];
	FILE *file = create("sums.json");

	for (size_t i = 0; i < schema->column_count; i++)
		fprintf(file, "%c\"%s\": {\"values\": %llu, \"sum\": \"%lld\"}", i ? ',' : '{', schema->columns[i].name,
			(unsigned long long)sums[i].values, (long long)sums[i].sum);
	fputs("}\n", file);
	finish(file);
}

static void write_types(void)
{
	FILE *file = create("types.json");

	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++) {
		const struct iotr_schema *schema = &iotr_schemas[stream];

		fprintf(file, "%c\"%s\": ", stream ? ',' : '{', schema->flag);
		for (size_t i = 0; i < schema->column_count; i++)
			fprintf(file, "%c\"%s\": \"%s\"", i ? ',' : '{', schema->columns[i].name,
				iotr_type_name(schema->columns[i].type));
		fputs("}\n", file);
	}
	fputs("}\n", file);
	finish(file);
}

int main(int argc, char **argv)
{
	static const enum iotr_stream by_name[] = { IOTR_VFS, IOTR_CONN, IOTR_SOCKOPT };

	if (argc != 3)
		return 2;
	folder = argv[1];
	make_folder("mixed");
	make_folder("alone");
	make_folder("big");
	make_folder("late");
	cells_init(&cells);
	cells.realtime_offset = 1700000000123456789;
	write_types();
	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		write_mixed((enum iotr_stream)stream);
	for (size_t i = 0; i < sizeof(by_name) / sizeof(by_name[0]); i++)
		for (size_t name = 0; name < NAMES; name++)
			write_alone(by_name[i], name);
	write_big(strtoull(argv[2], NULL, 10));
	write_sums();
	write_late();
	return 0;
}
