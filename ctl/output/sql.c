// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/sql.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema.h"

/* printf formats of a column that may be empty, by what its values are; %s of `load` is the folder, each time. */
static const struct dialect {
	const char *name;
	const char *time, *number, *ms, *text;
	const char *required; /* around a type of which every row has a value; the others may be empty */
	const char *optional;
	const char *after; /* the closing parenthesis */
	const char *load;
} dialects[] = {
	{ "duckdb", "TIMESTAMP_NS", "BIGINT", "DECIMAL(18,6)", "VARCHAR", "%s NOT NULL", "%s", ");",
	  "-- COPY \"%s\" FROM '%s/*.csv.gz' (HEADER);" },
	{ "clickhouse", "DateTime64(9, 'UTC')", "Int64", "Decimal(18, 6)", "String", "%s", "Nullable(%s)",
	  ") ENGINE = MergeTree ORDER BY \"mono_ns\";",
	  "-- INSERT INTO \"%s\" FROM INFILE '%s/*.csv.gz' FORMAT CSVWithNames;" },
	{ "postgres", "timestamp", "bigint", "numeric(18,6)", "text", "%s NOT NULL", "%s", ");",
	  "-- for file in %s/*.csv.gz; do zcat $file | psql -c '\\copy \"%s\" FROM STDIN (FORMAT csv, HEADER)'; done" },
};

static const char *type_of(const struct dialect *dialect, enum iotr_type type)
{
	switch (type) {
	case IOTR_TYPE_TIME:
		return dialect->time;
	case IOTR_TYPE_U64: /* its greatest numbers are written as negative ones */
	case IOTR_TYPE_S64:
		return dialect->number;
	case IOTR_TYPE_MS:
		return dialect->ms;
	default:
		return dialect->text;
	}
}

/* Every row has these. */
static bool is_required(const char *column)
{
	return !strcmp(column, "timestamp") || !strcmp(column, "operation") || !strcmp(column, "mono_ns");
}

static void put_type(FILE *out, const char *around, const char *type)
{
	const char *place = strstr(around, "%s");

	fprintf(out, "%.*s%s%s", (int)(place - around), around, type, place + 2);
}

static void put_load(FILE *out, const char *load, const char *folder)
{
	for (const char *place; (place = strstr(load, "%s")); load = place + 2)
		fprintf(out, "%.*s%s", (int)(place - load), load, folder);
	fprintf(out, "%s\n", load);
}

/* Names are quoted, as some of them are words of SQL. */
static void put_table(FILE *out, const struct dialect *dialect, const struct iotr_schema *schema)
{
	fprintf(out, "-- %s: %s\nCREATE TABLE \"%s\" (\n", schema->flag, schema->doc, schema->folder);
	for (size_t i = 0; i < schema->column_count; i++) {
		const struct iotr_column *column = &schema->columns[i];

		fprintf(out, "\t\"%s\" ", column->name);
		put_type(out, is_required(column->name) ? dialect->required : dialect->optional,
			 type_of(dialect, column->type));
		fputs(i + 1 < schema->column_count ? ",\n" : "\n", out);
	}
	fprintf(out, "%s\n", dialect->after);
	put_load(out, dialect->load, schema->folder);
}

char *sql_tables(const char *dialect)
{
	char *text = NULL;
	size_t size;
	FILE *out;

	for (size_t i = 0; i < sizeof(dialects) / sizeof(dialects[0]); i++) {
		if (strcmp(dialects[i].name, dialect) != 0)
			continue;
		out = open_memstream(&text, &size);
		for (size_t stream = 0; out && stream < IOTR_STREAM_COUNT; stream++) {
			if (stream)
				putc('\n', out);
			put_table(out, &dialects[i], &iotr_schemas[stream]);
		}
		if (out)
			fclose(out);
	}
	return text;
}
