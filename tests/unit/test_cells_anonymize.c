// SPDX-License-Identifier: GPL-2.0-or-later
/* Cells of every stream, as the writer anonymises them: the same golden files as the client's. */
#include "cells/cells_anonymize.h"
#include "cells/columns.h"

#include "format_csv.h"
#include "format_jsonl.h"
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

/* Fields of a line as cells, in place. */
static size_t split(char *line, struct cell *cell)
{
	size_t count = 0;
	char *text;

	while ((text = strsep(&line, ",")))
		cell[count++] = cell_bytes(text, strlen(text));
	return count;
}

START_TEST(makes_golden_rows)
{
	static char text[GOLDEN_SIZE], actual[4 * GOLDEN_SIZE];
	struct cells_anonymizer *anonymizer = new_anonymizer();
	char *rest = text, *line, *to = actual;
	static struct csv csv;

	format_csv_init(&csv, (enum iotr_stream)_i, NULL);
	golden_read_csv((enum iotr_stream)_i, text);
	to += sprintf(to, "%s\n", strsep(&rest, "\n"));
	while ((line = strsep(&rest, "\n")) && *line) {
		struct cell cell[CELLS_MAX];
		size_t columns = split(line, cell);

		ck_assert_uint_eq(columns, iotr_schemas[_i].column_count);
		cells_anonymize(anonymizer, (enum iotr_stream)_i, cell, columns);
		to += format_csv_cells(&csv, cell, columns, to);
	}
	*to = '\0';
	golden_compare((enum iotr_stream)_i, ".anonymized.csv", actual);
	cells_anonymizer_free(anonymizer);
	cells_anonymizer_free(NULL);
}
END_TEST

/* The longest possible texts fit into their buffers, and the line into the buffer of a sink. */
START_TEST(bounds_rows)
{
	static const char *const patterns[] = { "/a", "a -> ", "x" };
	static char path[2 * NAMES_PATH_MAX + 64], line[2 * SINK_BUFFER_SIZE];
	struct cells_anonymizer *anonymizer = new_anonymizer();
	size_t length = strlen(patterns[_i]);
	static struct csv csv;

	format_csv_init(&csv, IOTR_VFS, NULL);
	for (size_t i = 0; i < sizeof(path); i++)
		path[i] = patterns[_i][i % length];
	for (size_t size = 5 * IOTR_ANONYMIZE_COMPONENTS_MAX - 9; size <= sizeof(path); size += 7919) {
		size_t used = size < sizeof(path) ? size : sizeof(path), bound;
		struct row row = { .path = { path, (uint32_t)used / 2 },
				   .path2 = { path, (uint32_t)(used - used / 2) } };
		struct cell cell[CELLS_MAX] = { 0 };

		cell[FIRST_command] = cell_bytes(path, 64);
		cell[VFS_filename] = cell_bytes(path, used);
		cells_anonymize(anonymizer, IOTR_VFS, cell, iotr_schemas[IOTR_VFS].column_count);
		bound = format_jsonl_bound(&row, true);
		ck_assert_uint_le(bound, SINK_BUFFER_SIZE);
		bound = format_csv_bound(&row, true);
		ck_assert_uint_le(bound, SINK_BUFFER_SIZE);
		ck_assert_uint_le(format_csv_cells(&csv, cell, iotr_schemas[IOTR_VFS].column_count, line), bound);
	}
	cells_anonymizer_free(anonymizer);
}
END_TEST

/* Whether a row is written at once, or from cells, or with text that was kept of the row before. */
START_TEST(hides_names_in_rows)
{
	struct cells_anonymizer *anonymizer = new_anonymizer();
	enum iotr_stream stream = (enum iotr_stream)_i;
	static _Alignas(8) char record[1024];
	struct iotr_record *head = (void *)record;
	struct row row = { .record = head, .path = { "/secret", 7 }, .fs_type = "ext4" };
	static struct cells cells;
	static struct csv csv, plain;
	char expected[4096], line[4096];

	cells_init(&cells);
	format_csv_init(&csv, stream, anonymizer);
	format_csv_init(&plain, stream, NULL);
	head->stream = (uint8_t)stream;
	strcpy(head->command, "secret");
	for (int turn = 0; turn < 3; turn++) {
		struct cell cell[CELLS_MAX];
		size_t count = cells_fill(&cells, &row, cell);

		cells_anonymize(anonymizer, stream, cell, count);
		expected[format_csv_cells(&plain, cell, count, expected)] = '\0';
		line[format_csv_row(&csv, &cells, &row, line)] = '\0';
		ck_assert_str_eq(line, expected);
		ck_assert_ptr_null(strstr(line, "secret"));
	}
	cells_anonymizer_free(anonymizer);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_loop_test(tests, hides_names_in_rows, 0, IOTR_STREAM_COUNT);
	tcase_add_loop_test(tests, makes_golden_rows, 0, IOTR_STREAM_COUNT);
	tcase_add_loop_test(tests, bounds_rows, 0, 3);
}

int main(void)
{
	return run_suite("cells_anonymize", add);
}
