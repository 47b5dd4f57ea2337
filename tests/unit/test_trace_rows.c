// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of a trace as cells: quotes, JSON, gzip, files that are being written, and whatever else a file may hold. */
#include "trace_rows.h"

#include <errno.h>
#include <stdio.h>
#include <zlib.h>

#include "folder.h"
#include "suite.h"

static const char *const names[] = { "timestamp", "filename", "mono_ns" };
static struct folder folder;
static struct trace_rows rows;

static void begin(void)
{
	folder_begin(&folder);
}

static void end(void)
{
	trace_rows_close(&rows);
	folder_end(&folder);
}

static int open_rows(const char *name, enum iotr_format format)
{
	trace_rows_close(&rows);
	return trace_rows_open(&rows, folder.fd, name, format, names, 3);
}

static int open_text(const char *text, enum iotr_format format)
{
	folder_put_bytes(&folder, "file", text, strlen(text));
	return open_rows("file", format);
}

/* Reads the next row, whose file name must be this. */
static void expect(const char *filename)
{
	ck_assert_int_eq(trace_rows_next(&rows), 1);
	ck_assert_msg(trace_text_is(rows.cells[1], filename), "%.*s is not %s", (int)rows.cells[1].length,
		      rows.cells[1].at, filename);
}

static void expect_end(uint64_t good, uint64_t bad, bool cut)
{
	ck_assert_int_eq(trace_rows_next(&rows), 0);
	ck_assert_int_eq(trace_rows_next(&rows), 0);
	ck_assert_uint_eq(rows.rows, good);
	ck_assert_uint_eq(rows.bad_rows, bad);
	ck_assert_int_eq(rows.cut, cut);
}

#define HEADER "timestamp,filename,mono_ns\n"

START_TEST(csv)
{
	ck_assert_int_eq(open_text(HEADER "t,/a,1\nt,\"a,\"\"b\"\"\nc\",2\n,,\nt,\"\",3\nt,/last,4\n", IOTR_FORMAT_CSV), 0);
	expect("/a");
	expect("a,\"b\"\nc");
	ck_assert(trace_text_is(rows.cells[2], "2"));
	expect("");
	expect("");
	expect("/last");
	expect_end(5, 0, false);
}
END_TEST

/* Columns are known by the header, wherever they are, and there may be more. */
START_TEST(csv_header)
{
	ck_assert_int_eq(open_text("mono_ns,new,timestamp,filename\n1,2,3,4\n", IOTR_FORMAT_CSV), 0);
	ck_assert_int_eq(trace_rows_column(&rows, "filename"), 3);
	ck_assert_int_eq(trace_rows_column(&rows, "file"), -1);
	ck_assert_int_eq(trace_rows_next(&rows), 1);
	ck_assert(trace_text_is(rows.cells[3], "4"));
	ck_assert_int_eq(open_text("timestamp,mono_ns\n", IOTR_FORMAT_CSV), -EPROTO);
	ck_assert_int_eq(open_text("", IOTR_FORMAT_CSV), -ENOMSG);
	ck_assert_int_eq(open_text("timestamp,filena", IOTR_FORMAT_CSV), -ENOMSG);
	ck_assert_int_eq(open_rows("nothing", IOTR_FORMAT_CSV), -ENOENT);
}
END_TEST

/* A line that is no row is counted, and those after it are read. */
START_TEST(csv_bad)
{
	ck_assert_int_eq(open_text(HEADER "a,b\na,b,c,d\n\na\"b\",c,d\n\"a\"b,c,d\nt,/good,1\n", IOTR_FORMAT_CSV), 0);
	expect("/good");
	expect_end(1, 5, false);
}
END_TEST

/* As a file of a running session ends: within a row, a quoted field, a character. */
START_TEST(cut)
{
	static const char *const ends[] = { "t", "t,/b,1", "t,\"b\n", "t,\"b\"", "t,\"b\"\"", "\"" };

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		char text[128];

		snprintf(text, sizeof(text), HEADER "t,/a,1\n%s", ends[i]);
		ck_assert_int_eq(open_text(text, IOTR_FORMAT_CSV), 0);
		expect("/a");
		expect_end(1, 0, true);
	}
	ck_assert_int_eq(open_text("{\"timestamp\":\"t\",\"filen", IOTR_FORMAT_JSONL), 0);
	expect_end(0, 0, true);
}
END_TEST

START_TEST(json)
{
	ck_assert_int_eq(open_text("{\"timestamp\":\"t\",\"filename\":\"a\\\\x0a \\\"b\\\" ,}\",\"mono_ns\":1}\n"
				   " { \"timestamp\" : null , \"filename\" : null, \"mono_ns\": 2 } \n",
				   IOTR_FORMAT_JSONL), 0);
	expect("a\\x0a \"b\" ,}");
	ck_assert(trace_text_is(rows.cells[2], "1"));
	expect("");
	ck_assert(trace_text_is(rows.cells[2], "2"));
	expect_end(2, 0, false);
}
END_TEST

START_TEST(json_bad)
{
	ck_assert_int_eq(open_text("\n{}\n[]\n{\"timestamp\":1,\"filename\":2}\n"
				   "{\"timestamp\":1,\"filename\":2,\"mono_ns\":3}x\n"
				   "{\"timestamp\":1,\"filename\":2,\"mono_ns\":3,\"more\":4}\n"
				   "{\"timestamp\":1,\"filename\":\"\\n\",\"mono_ns\":3}\n"
				   "{\"timestamp\":1,\"filename\":[],\"mono_ns\":3}\n"
				   "{\"timestamp\":1,\"filename\":,\"mono_ns\":3}\n"
				   "{\"timestamp\":1,\"filename\":\"/good\",\"mono_ns\":3}\n", IOTR_FORMAT_JSONL), 0);
	expect("/good");
	expect_end(1, 9, false);
}
END_TEST

/* Rows that lie over the ends of the pieces in which a file is read, plain and in several members of gzip. */
START_TEST(long_files)
{
	enum { ROWS = 40000 };
	char *text = malloc(ROWS * 100), *at = stpcpy(text, HEADER);
	gzFile packed;

	for (int i = 0; i < ROWS; i++)
		at += sprintf(at, i % 3 ? "t,/file %d,%d\n" : "t,\"/file, \"\"%d\"\"\",%d\n", i, i);
	folder_put_bytes(&folder, "long.csv", text, (size_t)(at - text));
	for (int part = 0; part < 2; part++) {
		char path[PATH_MAX];
		size_t half = (size_t)(at - text) / 2, size = part ? (size_t)(at - text) - half : half;

		snprintf(path, sizeof(path), "/proc/self/fd/%d/long.csv.gz", folder.fd);
		packed = gzopen(path, "a");
		ck_assert_int_eq(gzwrite(packed, text + part * half, (unsigned int)size), (int)size);
		ck_assert_int_eq(gzclose(packed), Z_OK);
	}
	for (int part = 0; part < 2; part++) {
		ck_assert_int_eq(open_rows(part ? "long.csv.gz" : "long.csv", IOTR_FORMAT_CSV), 0);
		for (int i = 0; i < ROWS; i++) {
			char name[64];

			sprintf(name, i % 3 ? "/file %d" : "/file, \"%d\"", i);
			expect(name);
		}
		expect_end(ROWS, 0, false);
		ck_assert_uint_eq(rows.bytes, (size_t)(at - text));
	}
	free(text);
}
END_TEST

/* A row without an end takes no more memory than the limit. */
START_TEST(endless)
{
	size_t size = 3 << 20;
	char *text = malloc(size);

	memset(text, '"', size);
	memcpy(text, HEADER, strlen(HEADER));
	folder_put_bytes(&folder, "file", text, size);
	ck_assert_int_eq(open_rows("file", IOTR_FORMAT_CSV), 0);
	ck_assert_int_eq(trace_rows_next(&rows), -EMSGSIZE);
	free(text);
}
END_TEST

/* Any change of a byte and any end: rows are good or bad, and all that is given lies within the file. */
START_TEST(rubbish)
{
	static const char csv_text[] = HEADER "t,\"a,\"\"b\"\"\",1\nt,/b,2\n";
	static const char json_text[] = "{\"timestamp\":\"t\",\"filename\":\"a\\\"b\",\"mono_ns\":3}\n";
	static const char marks[] = "\",\n\\{}:x\0\xff";

	for (int format = 0; format < 2; format++) {
		const char *text = format ? json_text : csv_text;
		size_t size = format ? sizeof(json_text) - 1 : sizeof(csv_text) - 1;

		for (size_t i = 0; i < size * (sizeof(marks) - 1); i++) {
			char changed[128];
			size_t end_at = i % 3 ? size : size - i % size;

			memcpy(changed, text, size);
			changed[i / (sizeof(marks) - 1)] = marks[i % (sizeof(marks) - 1)];
			folder_put_bytes(&folder, "file", changed, end_at);
			if (open_rows("file", format ? IOTR_FORMAT_JSONL : IOTR_FORMAT_CSV) < 0)
				continue;
			while (trace_rows_next(&rows) > 0)
				for (size_t j = 0; j < rows.columns; j++)
					ck_assert_uint_le(rows.cells[j].length, size);
			ck_assert_uint_le(rows.rows + rows.bad_rows, 6);
		}
	}
}
END_TEST

static struct trace_text text_of(const char *text)
{
	return (struct trace_text){ text, strlen(text) };
}

START_TEST(values)
{
	uint64_t number = 0;
	int64_t with_sign = 0;

	ck_assert(trace_text_u64(text_of("18446744073709551615"), &number) && number == UINT64_MAX);
	ck_assert(!trace_text_u64(text_of("18446744073709551616"), &number));
	ck_assert(!trace_text_u64(text_of("99999999999999999999"), &number));
	ck_assert(!trace_text_u64(text_of(""), &number) && !trace_text_u64(text_of("-1"), &number));
	ck_assert(trace_text_s64(text_of("-9223372036854775808"), &with_sign) && with_sign == INT64_MIN);
	ck_assert(!trace_text_s64(text_of("9223372036854775808"), &with_sign));
	ck_assert(trace_text_ms(text_of("1.000001"), &number) && number == 1000001);
	ck_assert(trace_text_ms(text_of("12"), &number) && number == 12000000);
	ck_assert(trace_text_ms(text_of("0.5"), &number) && number == 500000);
	ck_assert(!trace_text_ms(text_of("1.0000001"), &number) && !trace_text_ms(text_of("1.x"), &number));
	ck_assert(!trace_text_ms(text_of(""), &number) && !trace_text_ms(text_of("99999999999999999.0"), &number));
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_test(tests, csv);
	tcase_add_test(tests, csv_header);
	tcase_add_test(tests, csv_bad);
	tcase_add_test(tests, cut);
	tcase_add_test(tests, json);
	tcase_add_test(tests, json_bad);
	tcase_add_test(tests, long_files);
	tcase_add_test(tests, endless);
	tcase_add_test(tests, rubbish);
	tcase_add_test(tests, values);
}

int main(void)
{
	return run_suite("trace_rows", add);
}
