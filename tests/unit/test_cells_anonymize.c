// SPDX-License-Identifier: GPL-2.0-or-later
/* Cells of every stream, as the writer anonymises them: the same golden files as the client's. */
#include "cells/cells_anonymize.h"
#include "cells/columns.h"

#include "format_csv.h"
#include "golden.h"
#include "writer/sink.h"
#include "suite.h"

static struct cells_anonymizer *new_anonymizer(void)
{
	uint8_t key[IOTR_ANONYMIZE_KEY_SIZE];
	struct cells_anonymizer *anonymizer;

	iotr_anonymizer_free(golden_anonymizer(key));
	ck_assert_int_eq(cells_anonymizer_new(key, &anonymizer), 0);
	return anonymizer;
}

/* Fields of a line as cells, quotes undone in place. */
static size_t split(char *line, struct cell *cell)
{
	size_t count = 0;

	while (line) {
		char *text = line, *to = line;
		bool quoted = *line == '"';

		if (!quoted) {
			strsep(&line, ",");
			cell[count++] = cell_bytes(text, strlen(text), false);
			continue;
		}
		for (line++; *line != '"' || line[1] == '"'; *to++ = *line++)
			line += *line == '"';
		line = line[1] ? line + 2 : NULL;
		cell[count++] = cell_bytes(text, (size_t)(to - text), true);
	}
	return count;
}

START_TEST(makes_golden_rows)
{
	static char text[GOLDEN_SIZE], actual[4 * GOLDEN_SIZE];
	struct cells_anonymizer *anonymizer = new_anonymizer();
	struct iotr_record record = { .stream = (uint8_t)_i };
	char *rest = text, *line, *to = actual;
	static struct format_csv csv;

	format_csv_init(&csv);
	golden_read_csv((enum iotr_stream)_i, text);
	to += sprintf(to, "%s\n", strsep(&rest, "\n"));
	while ((line = strsep(&rest, "\n")) && *line) {
		struct row row = { .record = &record, .path = { "/secret", 7, true } };
		struct cell cell[CELLS_MAX];
		size_t columns = split(line, cell);

		ck_assert_uint_eq(columns, iotr_schemas[_i].column_count);
		cells_anonymize(anonymizer, NULL, &row, cell, columns);
		ck_assert_uint_eq(row.path.length, 0);
		to += format_csv_row(&csv, NULL, cell, columns, to);
	}
	*to = '\0';
	golden_compare((enum iotr_stream)_i, ".anonymized.csv", actual);
	cells_anonymizer_free(anonymizer);
	cells_anonymizer_free(NULL);
}
END_TEST

/* The longest texts there can be: they fit, and so does the line in the buffer of a sink. */
START_TEST(bounds_rows)
{
	static const char *const patterns[] = { "/a", "a -> ", "x" };
	static char path[2 * NAMES_PATH_MAX + 64], line[2 * SINK_BUFFER_SIZE];
	struct cells_anonymizer *anonymizer = new_anonymizer();
	struct iotr_record record = { .stream = IOTR_VFS };
	size_t length = strlen(patterns[_i]);
	static struct format_csv csv;

	format_csv_init(&csv);
	for (size_t i = 0; i < sizeof(path); i++)
		path[i] = patterns[_i][i % length];
	for (size_t size = 5 * IOTR_ANONYMIZE_COMPONENTS_MAX - 9; size <= sizeof(path); size += 7919) {
		size_t used = size < sizeof(path) ? size : sizeof(path), more;
		struct row row = { .record = &record };
		struct cell cell[CELLS_MAX] = { 0 };

		cell[FIRST_command] = cell_bytes(path, 64, false);
		cell[VFS_filename] = cell_bytes(path, used, false);
		more = cells_anonymize(anonymizer, NULL, &row, cell, iotr_schemas[IOTR_VFS].column_count);
		ck_assert_uint_le(format_csv_bound(&row) + more, SINK_BUFFER_SIZE);
		ck_assert_uint_le(format_csv_row(&csv, NULL, cell, iotr_schemas[IOTR_VFS].column_count, line),
				  format_csv_bound(&row) + more);
	}
	cells_anonymizer_free(anonymizer);
}
END_TEST

static void write_row(enum iotr_stream stream, struct cells_anonymizer *anonymizer, struct cells *cells,
		      struct format_csv *csv, bool late, char *line)
{
	static _Alignas(8) char record[1024];
	struct iotr_record *head = (void *)record;
	struct row row = { .record = head, .path = { "/secret", 7, false }, .fs_type = "ext4" };
	struct cell cell[CELLS_MAX];
	size_t count;

	head->stream = (uint8_t)stream;
	strcpy(head->command, "secret");
	count = late ? cells_fill_late(cells, &row, cell) : cells_fill(cells, &row, cell);
	cells_anonymize(anonymizer, cells, &row, cell, count);
	line[format_csv_row(csv, cells, cell, count, line)] = '\0';
}

/* Whether spans are filled at once, late, or shown from what was kept. */
START_TEST(hides_names_in_spans)
{
	struct cells_anonymizer *anonymizer = new_anonymizer();
	static struct cells early, late;
	static struct format_csv csv[2];
	char expected[4096], line[4096];

	cells_init(&early);
	cells_init(&late);
	format_csv_init(&csv[0]);
	format_csv_init(&csv[1]);
	for (int turn = 0; turn < 3; turn++) {
		write_row((enum iotr_stream)_i, anonymizer, &early, &csv[0], false, expected);
		write_row((enum iotr_stream)_i, anonymizer, &late, &csv[1], true, line);
		ck_assert_str_eq(line, expected);
		ck_assert_ptr_null(strstr(line, "secret"));
	}
	cells_anonymizer_free(anonymizer);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_loop_test(tests, hides_names_in_spans, 0, IOTR_STREAM_COUNT);
	tcase_add_loop_test(tests, makes_golden_rows, 0, IOTR_STREAM_COUNT);
	tcase_add_loop_test(tests, bounds_rows, 0, 3);
}

int main(void)
{
	return run_suite("cells_anonymize", add);
}
