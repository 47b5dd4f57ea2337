// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lines as format_csv_row() writes them, with text that it has kept of earlier rows, against lines that are put
 * together from the cells of the row alone by the functions of the C library.
 */
#include "format_csv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "suite.h"

enum { LINE_MAX_SIZE = 65536 };

static uint64_t state = 1;

static uint64_t draw(uint64_t below)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (state >> 33) % below;
}

/* Numbers of every length, and those that mean something. */
static uint64_t any_number(void)
{
	static const uint64_t special[] = { 0, 1, 9, 10, 4096, 99999999, 100000000, 9999999999999999, 10000000000000000,
					    INT64_MAX, 1ULL << 63, UINT64_MAX - 1, IOTR_UNKNOWN };

	if (draw(3) == 0)
		return special[draw(sizeof(special) / sizeof(special[0]))];
	return (draw(1ULL << 31) << 33 | draw(1ULL << 31) << 2) >> draw(64);
}

/* ---- the plain line ---- */

static void put_text(FILE *out, const struct cell *cell)
{
	fwrite(cell->text, 1, cell->length, out);
}

static void put_time(FILE *out, uint64_t ns)
{
	time_t second = (time_t)(ns / 1000000000);
	struct tm date;
	char text[64];

	gmtime_r(&second, &date);
	strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &date);
	fprintf(out, "%s.%09" PRIu64, text, ns % 1000000000);
}

static void put_cell(FILE *out, const struct cell *cell)
{
	switch (cell->kind) {
	case CELL_EMPTY:
		break;
	case CELL_TEXT:
		put_text(out, cell);
		break;
	case CELL_U64:
	case CELL_MONO:
	case CELL_S64: /* there are no larger numbers than those with a sign */
		fprintf(out, "%" PRId64, (int64_t)cell->number);
		break;
	case CELL_HEX:
		fprintf(out, "#0x%" PRIx64, cell->number);
		break;
	case CELL_MS:
		fprintf(out, "%" PRIu64 ".%06" PRIu64, cell->number / 1000000, cell->number % 1000000);
		break;
	case CELL_DEVICE:
		fprintf(out, "%" PRIu64 ":%03" PRIu64, cell->number >> 20, cell->number & 0xfffff);
		break;
	case CELL_TIME:
		put_time(out, cell->number);
		break;
	default:
		ck_abort_msg("a cell of kind %d", cell->kind);
	}
}

static void write_plain(struct cells *cells, const struct row *row, char *line, size_t size)
{
	struct cell cell[CELLS_MAX];
	size_t count = cells_fill(cells, row, cell);
	FILE *out = fmemopen(line, size, "w");

	for (size_t i = 0; i < count; i++) {
		put_cell(out, &cell[i]);
		fputc(i + 1 < count ? ',' : '\n', out);
	}
	fputc('\0', out);
	ck_assert_int_eq(fclose(out), 0);
}

/* ---- rows ---- */

union record {
	struct iotr_record head;
	struct iotr_vfs_record vfs;
	char bytes[512];
};

#define RECORD_SIZE(id, name, ...) [IOTR_##id] = sizeof(struct iotr_##name##_record),
static const uint16_t sizes[] = { IOTR_STREAMS(RECORD_SIZE) };

static const char *const fs_types[] = { "", "ext4", "0123456789abcde" };

/* Few enough tasks that they come again, and some that share a place with another; commands of every kind. */
static void make_head(struct iotr_record *head, enum iotr_stream stream)
{
	static const char commands[][IOTR_COMMAND_SIZE] = { "cat", "a,b", "x\"y", "", "\xff\n\t\1\2\3\4\5\6\7\1\2\3\4\5",
							    "0123456789abcde" };
	static uint64_t now = 1;
	uint64_t task = draw(100);

	head->size = sizes[stream];
	head->stream = (uint8_t)stream;
	head->operation = (uint8_t)(draw(50) ? draw(iotr_schemas[stream].operation_count) : draw(256));
	head->cpu = (uint16_t)(draw(8) ? task % 3 : draw(65536));
	now += draw(4) ? draw(100000) : draw(3000000000);
	head->start_ns = now;
	head->latency_ns = any_number();
	head->pid = (uint32_t)(task % 7 ? task : task << 25);
	head->tid = (uint32_t)task;
	head->ppid = (uint32_t)(task / 3);
	head->uid = draw(20) ? 1000 : ~0U;
	head->cgroup_id = draw(20) ? task % 2 ? 77 : 18446744073709551614ULL : IOTR_UNKNOWN;
	memcpy(head->command, commands[draw(10) ? task % 4 : draw(6)], IOTR_COMMAND_SIZE);
}

static void make_vfs(struct iotr_vfs_record *record)
{
	static const uint32_t flags[] = { 0, 1, 0100000, 02000102, ~0U };

	record->file = (struct iotr_file){ .inode = draw(10) ? draw(400) : any_number(), .device = (uint32_t)(draw(3) << 20),
					   .flags = flags[draw(5)] };
	record->size = draw(3) ? 4096 : any_number();
	record->has_size = draw(4) != 0;
	record->offset = any_number();
	record->result = draw(3) ? (int64_t)record->size : (int64_t)any_number();
	if (!draw(4))
		record->result = -(int64_t)draw(5000);
	record->counts_bytes = draw(2) != 0;
	record->address = draw(4) ? IOTR_UNKNOWN : any_number();
	record->has_mapping = !draw(5);
	record->protection = (uint32_t)draw(8);
	record->mapping = flags[draw(5)];
	record->flags = flags[draw(5)];
	record->flag_kind = (uint8_t)draw(IOTR_FLAGS_COUNT);
	record->fd = draw(20) ? (int32_t)draw(100) : (int32_t)any_number();
	record->has_fd = draw(3) ? 1 : (uint8_t)draw(256);
}

/* Bytes of any kind: no record may make the two differ. */
static void make_bytes(union record *record, enum iotr_stream stream)
{
	for (size_t i = sizeof(record->head); i < sizes[stream]; i++)
		record->bytes[i] = (char)(draw(2) ? draw(3) : draw(256));
}

static struct row make_row(union record *record, enum iotr_stream stream)
{
	static const struct row_text paths[] = { { "", 0 }, { "/a", 2 },
						 { "/var/lib/database/some/where/segment-000123.dat", 47 } };

	make_bytes(record, stream);
	make_head(&record->head, stream);
	if (stream == IOTR_VFS)
		make_vfs(&record->vfs);
	return (struct row){ .record = &record->head, .path = paths[draw(3)], .path2 = paths[draw(3)],
			     .fs_type = fs_types[draw(3)] };
}

/* What is kept of columns is never shown in the place of others. */
START_TEST(writes_as_cells)
{
	static struct cells cells, others;
	static struct csv csv;
	static char line[LINE_MAX_SIZE], expected[LINE_MAX_SIZE];
	enum iotr_stream stream = (enum iotr_stream)_i;
	union record record;

	cells_init(&cells);
	cells_init(&others);
	format_csv_init(&csv, stream, NULL);
	for (int i = 0; i < OFTEN(40000); i++) {
		struct row row = make_row(&record, stream);
		size_t length;

		cells.realtime_offset = others.realtime_offset = 1700000000123456789 + i / 1000 * 1001;
		length = format_csv_row(&csv, &cells, &row, line);
		ck_assert_uint_le(length, format_csv_bound(&row, false));
		line[length] = '\0';
		write_plain(&others, &row, expected, sizeof(expected));
		if (strcmp(line, expected))
			ck_assert_str_eq(line, expected);
	}
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_loop_test(tests, writes_as_cells, 0, IOTR_STREAM_COUNT);
}

int main(void)
{
	return run_suite("csv", add_tests);
}
