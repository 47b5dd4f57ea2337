// SPDX-License-Identifier: GPL-2.0-or-later
#include "format_jsonl.h"

#include <stdio.h>
#include <string.h>

#include "format_csv.h"

/* A key and two quotes for each cell; texts grow no more than in CSV, at most to the double. */
#define EXTRA_MAX (CELLS_MAX * (FORMAT_JSONL_KEY_MAX + 2))

static bool is_number(enum iotr_type type)
{
	return type == IOTR_TYPE_U64 || type == IOTR_TYPE_S64 || type == IOTR_TYPE_MS;
}

void format_jsonl_init(struct format_jsonl *jsonl, enum iotr_stream stream, struct cells_anonymizer *anonymizer)
{
	const struct iotr_schema *schema = &iotr_schemas[stream];

	memset(jsonl, 0, sizeof(*jsonl));
	jsonl->stream = stream;
	jsonl->anonymizer = anonymizer;
	jsonl->date.second_ns = UINT64_MAX;
	for (size_t i = 0; i < schema->column_count; i++) {
		struct format_jsonl_key *key = &jsonl->keys[i];
		int length = snprintf(key->text, sizeof(key->text), "%c\"%s\":", i ? ',' : '{',
				      schema->columns[i].name);

		key->length = (uint8_t)length;
		key->number = is_number(schema->columns[i].type);
	}
}

/* Each backslash of a name is two in JSON. */
size_t format_jsonl_bound(const struct row *row, bool anonymized)
{
	return format_csv_bound(row, anonymized) + row->path.length + row->path2.length + EXTRA_MAX;
}

/* Cells hold valid UTF-8 without control characters: see escape.h. */
static char *write_text(char *out, const char *text, size_t length)
{
	*out++ = '"';
	for (size_t i = 0; i < length; i++) {
		if (text[i] == '"' || text[i] == '\\')
			*out++ = '\\';
		*out++ = text[i];
	}
	*out++ = '"';
	return out;
}

static char *write_value(struct format_jsonl *jsonl, char *out, const struct cell *cell)
{
	if (cell->kind == CELL_TIME)
		return format_time(&jsonl->date, out, cell->number);
	if (cell->kind == CELL_MONO)
		return format_mono(&jsonl->mono, out, cell->number);
	return format_number(out, cell);
}

static char *write_cell(struct format_jsonl *jsonl, char *out, const struct cell *cell, bool number)
{
	if (cell->kind == CELL_EMPTY)
		return mempcpy(out, "null", 4);
	if (cell->kind == CELL_TEXT)
		return write_text(out, cell->text, cell->length);
	if (number)
		return write_value(jsonl, out, cell);
	*out++ = '"';
	out = write_value(jsonl, out, cell);
	*out++ = '"';
	return out;
}

size_t format_jsonl_row(struct format_jsonl *jsonl, struct cells *cells, const struct row *row, char *out)
{
	struct cell cell[CELLS_MAX];
	size_t count = cells_fill(cells, row, cell);
	char *at = out;

	if (jsonl->anonymizer)
		cells_anonymize(jsonl->anonymizer, jsonl->stream, cell, count);
	for (size_t i = 0; i < count; i++) {
		const struct format_jsonl_key *key = &jsonl->keys[i];

		memcpy(at, key->text, sizeof(key->text));
		at = write_cell(jsonl, at + key->length, &cell[i], key->number);
	}
	*at++ = '}';
	*at++ = '\n';
	return (size_t)(at - out);
}
