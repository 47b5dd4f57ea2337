// SPDX-License-Identifier: GPL-2.0-or-later
#include "anonymize/snapshots.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "anonymize/folder.h"
#include "anonymize/segment.h"
#include "cleanup.h"
#include "output/complain.h"
#include "output/json.h"
#include "trace_file.h"

enum { HEADER_MAX = 1024, COLUMNS_MAX = 32 };

/* A snapshot's file, described like a segment of a stream. */
struct snapshot_table {
	const char *names[COLUMNS_MAX];
	char header[HEADER_MAX];
	struct verify_stream stream;
	struct verify_segment segment;
};

/* The columns of a table FOLDER/NAME.csv or .csv.gz, and its name. NULL: it is not a table. */
static const struct iotr_snapshot_schema *schema_of(const char *path, const char **name)
{
	for (size_t i = 0; i < IOTR_SNAPSHOT_SCHEMAS; i++) {
		const struct iotr_snapshot_schema *schema = &iotr_snapshot_schemas[i];
		size_t length = strlen(schema->folder);
		const char *ending = strrchr(path, '.');

		if (!schema->columns || strncmp(path, schema->folder, length) || path[length] != '/' ||
		    strlen(path) >= sizeof(((struct verify_segment *)0)->path))
			continue;
		*name = path + length + 1;
		if (ending && (!strcmp(ending, ".csv") || (!strcmp(ending, ".gz") && strstr(*name, ".csv.gz"))))
			return schema;
	}
	return NULL;
}

/* Writes the header of a table with so many of the columns, and returns its size. */
static size_t write_header(char *header, const struct iotr_snapshot_schema *schema, size_t columns)
{
	char *at = header;

	for (size_t i = 0; i < columns; i++) {
		at = stpcpy(at, schema->columns[i].name);
		*at++ = ',';
	}
	at[-1] = '\n';
	return (size_t)(at - header);
}

/* How many of its columns the file has: columns are only ever appended, so an older file has the first of them. */
static size_t count_columns(const struct iotr_snapshot_schema *schema, int folder, const char *name)
{
	char begin[HEADER_MAX], header[HEADER_MAX];
	size_t columns = schema->column_count;
	struct trace_file file;
	ssize_t n = -1;

	if (trace_file_open(folder, name, &file) >= 0)
		n = trace_file_read(&file, begin, sizeof(begin));
	trace_file_close(&file);
	for (; n > 0 && columns; columns--) {
		size_t size = write_header(header, schema, columns);

		if (size <= (size_t)n && !memcmp(begin, header, size))
			return columns;
	}
	return schema->column_count;
}

static void describe(struct snapshot_table *table, const struct iotr_snapshot_schema *schema, size_t columns,
		     const char *path)
{
	for (size_t i = 0; i < columns; i++)
		table->names[i] = schema->columns[i].name;
	table->stream = (struct verify_stream){
		.flag = schema->folder,
		.folder = schema->folder,
		.names = table->names,
		.columns = { .names = table->names, .count = columns, .header = table->header,
			     .header_size = write_header(table->header, schema, columns) },
	};
	table->segment = (struct verify_segment){ .stream = &table->stream, .format = IOTR_FORMAT_CSV };
	snprintf(table->segment.path, sizeof(table->segment.path), "%s", path);
}

static void update(struct json_object *entry, const struct anonymize_written *written)
{
	json_object_object_add(entry, "rows", json_object_new_uint64(written->rows));
	json_object_object_add(entry, "bytes", json_object_new_uint64(written->bytes));
	json_object_object_add(entry, "stored_bytes", json_object_new_uint64(written->stored));
	json_object_object_add(entry, "sha256", json_object_new_string(written->sha256));
}

static int one_snapshot(struct iotr_anonymizer *anonymizer, struct verify_trace *trace,
			const struct iotr_snapshot_schema *schema, const char *name, struct json_object *entry,
			int to_fd, struct anonymize_totals *totals)
{
	_cleanup_close_ int to = anonymize_folder(to_fd, schema->folder), from = -1;
	const struct anonymize_known known = { schema->columns, schema->column_count };
	struct anonymize_written written;
	struct snapshot_table table;
	int code;

	from = verify_open_folder(trace->folder_fd, schema->folder);
	if (from < 0)
		complain(NULL, "%s: %s", schema->folder, strerror(errno));
	if (from < 0 || to < 0)
		return EXIT_FAILED;
	describe(&table, schema, count_columns(schema, from, name), text_of(entry, "path", ""));
	code = anonymize_segment(anonymizer, &table.segment, &known, name, from, to, &written);
	if (code != EXIT_DONE)
		return code;
	if (member_of(entry, "rows") && number_of(entry, "rows") != written.rows) {
		complain(NULL, "%s has other rows than the manifest says", table.segment.path);
		return EXIT_FAILED;
	}
	update(entry, &written);
	totals->snapshots++;
	totals->bytes += written.bytes;
	totals->stored += written.stored;
	return EXIT_DONE;
}

int anonymize_snapshots(struct iotr_anonymizer *anonymizer, struct verify_trace *trace, int to_fd,
			struct anonymize_totals *totals)
{
	struct json_object *snapshots = member_of(trace->json, "snapshots"), *kept;
	int code = EXIT_DONE;

	if (!json_object_is_type(snapshots, json_type_array))
		return EXIT_DONE;
	kept = json_object_new_array();
	for (size_t i = 0; code == EXIT_DONE && i < count_of(snapshots); i++) {
		struct json_object *entry = json_object_array_get_idx(snapshots, i);
		const char *path = text_of(entry, "path", NULL), *name;
		const struct iotr_snapshot_schema *schema = path ? schema_of(path, &name) : NULL;

		if (schema)
			code = one_snapshot(anonymizer, trace, schema, name, entry, to_fd, totals);
		if (schema || !path)
			json_object_array_add(kept, json_object_get(entry));
		else
			json_object_array_add(totals->left_out, json_object_new_string(path));
	}
	json_object_object_add(trace->json, "snapshots", kept);
	return code;
}
