// SPDX-License-Identifier: GPL-2.0-or-later
/* Files of a trace read back: CSV by RFC 4180, JSON lines, gzip, and damaged ones. */
#include "trace_read.h"

#include <errno.h>
#include <zlib.h>

#include "folder.h"
#include "suite.h"

static const char *const names[] = { "timestamp", "operation", "filename", "mono_ns" };
static const char header[] = "timestamp,operation,filename,mono_ns\n";
static const struct trace_columns columns = { names, 4, header, sizeof(header) - 1 };

#define TIME "2026-11-21 12:24:10.000000000"
#define GOOD TIME ",READ,/a,17\n"

static struct folder folder;
static struct trace_scan scan;
static struct trace_read result;

static void begin(void)
{
	folder_begin(&folder);
}

static void end(void)
{
	trace_scan_done(&scan);
	folder_end(&folder);
}

/* Scans text in pieces of so many bytes, which may split rows and fields. */
static void feed(enum iotr_format format, const char *text, size_t size, size_t piece)
{
	trace_scan_done(&scan);
	ck_assert_int_eq(trace_scan_init(&scan, format, &columns), 0);
	while (size && !scan.stopped) {
		size_t room;
		char *to = trace_scan_room(&scan, &room);

		if (piece > size)
			piece = size;
		ck_assert_uint_gt(room, 0);
		if (piece > room)
			piece = room;
		memcpy(to, text, piece);
		trace_scan_added(&scan, piece);
		text += piece;
		size -= piece;
	}
}

static void scan_csv(const char *text)
{
	for (size_t piece = 1; piece < 100; piece++) {
		feed(IOTR_FORMAT_CSV, text, strlen(text), piece);
		ck_assert(scan.header_good);
	}
}

START_TEST(csv_rows)
{
	scan_csv("timestamp,operation,filename,mono_ns\n" GOOD TIME ",READ,\"a,b\",5\n" TIME
		 ",READ,\"say \"\"hi\"\"\nand\n\",40\n" TIME ",READ,\"\",9\n" TIME ",,,9\n");
	ck_assert_uint_eq(scan.rows, 5);
	ck_assert_uint_eq(scan.bad_rows, 0);
	ck_assert_uint_eq(scan.least_ns, 5);
	ck_assert_uint_eq(scan.greatest_ns, 40);
	ck_assert_str_eq(scan.least_time, TIME);
	ck_assert_uint_eq(trace_scan_rest(&scan), 0);
}
END_TEST

/* The columns of a row are counted in rows of any length. */
START_TEST(csv_lengths)
{
	char text[512];

	for (size_t length = 0; length < 100; length++)
		for (int more = 0; more < 2; more++) {
			int size = snprintf(text, sizeof(text), "%s" TIME ",READ,%.*s%s,17\n", header,
					    (int)length,
					    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
					    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
					    more ? "," : "");

			feed(IOTR_FORMAT_CSV, text, (size_t)size, 4096);
			ck_assert_uint_eq(scan.bad_rows, more);
		}
}
END_TEST

static const struct {
	const char *row;
	const char *because;
} bad[] = {
	{ TIME ",READ,17", "it has too few columns" },
	{ TIME ",READ,a,b,17", "it has too many columns" },
	{ TIME ",READ,a\"b\",17", "its quotes are not those of CSV" },
	{ TIME ",READ,\"a\"b\"\",17", "its quotes are not those of CSV" },
	{ TIME ",READ,a,", "its mono_ns is not a number" },
	{ TIME ",READ,a,-1", "its mono_ns is not a number" },
	{ TIME ",READ,a,18446744073709551616", "its mono_ns is not a number" },
	{ TIME ",READ,a,17\r", "its mono_ns is not a number" },
	{ "2026-11-21 12:24:10,READ,a,17", "its timestamp is not one" },
	{ ",READ,a,17", "its timestamp is not one" },
	{ "", "it has too few columns" },
};

START_TEST(csv_bad_row)
{
	char text[512];

	snprintf(text, sizeof(text), "%s" GOOD "%s\n" GOOD, header, bad[_i].row);
	scan_csv(text);
	ck_assert_uint_eq(scan.rows, 3);
	ck_assert_uint_eq(scan.bad_rows, 1);
	ck_assert_uint_eq(scan.first_bad, 2);
	ck_assert_str_eq(scan.bad_because, bad[_i].because);
	ck_assert_uint_eq(scan.bytes, strlen(text));
}
END_TEST

START_TEST(csv_header)
{
	static const char *const others[] = { "timestamp,operation,filename\n", "\n",
					      "timestamp,operation,filename,mono_ns\r\n", GOOD };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		feed(IOTR_FORMAT_CSV, others[i], strlen(others[i]), 7);
		ck_assert(!scan.header_good);
		}
}
END_TEST

START_TEST(csv_unfinished)
{
	const char *text = "timestamp,operation,filename,mono_ns\n" GOOD TIME ",READ,\"a\n";

	feed(IOTR_FORMAT_CSV, text, strlen(text), 1000);
	ck_assert_uint_eq(scan.rows, 1);
	ck_assert_uint_eq(scan.bytes, sizeof(header) - 1 + strlen(GOOD));
	ck_assert_uint_eq(trace_scan_rest(&scan), strlen(TIME ",READ,\"a\n"));
}
END_TEST

START_TEST(csv_times)
{
	trace_scan_done(&scan);
	ck_assert_int_eq(trace_scan_init(&scan, IOTR_FORMAT_CSV, &columns), 0);
	scan.from_ns = 10;
	scan.to_ns = 20;
	for (unsigned int i = 0; i < 2; i++) {
		const char *text = i ? TIME ",,,10\n" TIME ",,,9\n" TIME ",,,20\n" TIME ",,,21\n" :
				       header;
		size_t room;

		memcpy(trace_scan_room(&scan, &room), text, strlen(text));
		trace_scan_added(&scan, strlen(text));
	}
	ck_assert_uint_eq(scan.outside_rows, 2);
	ck_assert_uint_eq(scan.first_outside, 2);
}
END_TEST

/* A row that never ends takes no more memory than the limit of a row. */
START_TEST(csv_endless)
{
	size_t size = 3 * TRACE_ROW_MAX;
	char *text = malloc(size);

	memset(text, '"', size);
	memcpy(text, header, sizeof(header) - 1);
	feed(IOTR_FORMAT_CSV, text, size, 65536);
	ck_assert(scan.stopped);
	ck_assert_str_eq(scan.bad_because, "it is longer than 1 MiB");
	ck_assert_uint_eq(scan.bytes, sizeof(header) - 1);
	free(text);
}
END_TEST

#define JSON(mono) "{\"timestamp\":\"" TIME "\",\"operation\":null,\"filename\":\"a\\n\"," mono "}\n"

START_TEST(json_rows)
{
	const char *text = JSON("\"mono_ns\":17") JSON("\"mono_ns\": 18446744073709551615");

	for (size_t piece = 1; piece < 100; piece++) {
		feed(IOTR_FORMAT_JSONL, text, strlen(text), piece);
		ck_assert_uint_eq(scan.rows, 2);
		ck_assert_uint_eq(scan.bad_rows, 0);
	}
	ck_assert_uint_eq(scan.least_ns, 17);
	ck_assert_uint_eq(scan.greatest_ns, UINT64_MAX);
}
END_TEST

START_TEST(json_bad_row)
{
	static const char *const rows[] = {
		"[]\n", "\n", "{\"a\":1}\n", JSON("\"mono_ns\":-1"), JSON("\"mono_ns\":\"17\""),
		JSON("\"mono_ns\":17,\"more\":1"), JSON("\"mono_ns\":17}"), JSON("\"other\":17"),
		"[[[[[[[[[[[[[[[[[[[[[[[[\n", "{\"timestamp\":\n",
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		feed(IOTR_FORMAT_JSONL, rows[i], strlen(rows[i]), 4096);
		ck_assert_msg(scan.rows == 1 && scan.bad_rows == 1, "%s", rows[i]);
	}
}
END_TEST

static int read_file(const char *name)
{
	trace_scan_done(&scan);
	ck_assert_int_eq(trace_scan_init(&scan, IOTR_FORMAT_CSV, &columns), 0);
	return trace_read(folder.fd, name, &scan, &result);
}

static bool stop(uint64_t bytes, void *userdata)
{
	(void)bytes, (void)userdata;
	return false;
}

/* One member of gzip; returns its size. */
static size_t gzip(const char *text, char *to, size_t room)
{
	z_stream stream = { .next_in = (Bytef *)(uintptr_t)text, .avail_in = (uInt)strlen(text),
			    .next_out = (Bytef *)to, .avail_out = (uInt)room };

	ck_assert_int_eq(deflateInit2(&stream, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
	ck_assert_int_eq(deflate(&stream, Z_FINISH), Z_STREAM_END);
	deflateEnd(&stream);
	return room - stream.avail_out;
}

START_TEST(plain_and_gzip)
{
	static const char *const text = "timestamp,operation,filename,mono_ns\n" GOOD GOOD;
	char packed[1024], sum[sizeof(result.xxh128)];
	size_t size = gzip("timestamp,operation,filename,mono_ns\n" GOOD, packed, sizeof(packed));

	folder_put_bytes(&folder, "plain.csv", text, strlen(text));
	ck_assert_int_eq(read_file("plain.csv"), 0);
	ck_assert_uint_eq(result.bytes, strlen(text));
	ck_assert_str_eq(result.sha256, "");
	memcpy(sum, result.xxh128, sizeof(sum));
	size += gzip(GOOD, packed + size, sizeof(packed) - size);
	folder_put_bytes(&folder, "two.csv.gz", packed, size);
	ck_assert_int_eq(read_file("two.csv.gz"), 0);
	ck_assert_uint_eq(scan.rows, 2);
	ck_assert_uint_eq(result.bytes, strlen(text));
	ck_assert_uint_eq(result.stored, size);
	ck_assert_str_eq(result.stored_sha256, "");
	ck_assert_str_eq(result.xxh128, sum);
}
END_TEST

/* What `xxhsum -H2` and sha256sum(1) print for these bytes. */
START_TEST(checksums)
{
	folder_put_bytes(&folder, "empty.csv", "", 0);
	ck_assert_int_eq(read_file("empty.csv"), 0);
	ck_assert_str_eq(result.xxh128, "99aa06d3014798d86001c324468d497f");
	folder_put_bytes(&folder, "some.csv", header, sizeof(header) - 1);
	result.wants_sha256 = true;
	ck_assert_int_eq(read_file("some.csv"), 0);
	ck_assert_str_eq(result.xxh128, "6fb0fa1631a61efde49eef6f74d055a2");
	ck_assert_str_eq(result.stored_sha256, "");
	ck_assert_str_eq(result.sha256, "35e1b7f2e7476d31a16ef7323d1343ac900efaf3b5f98c867c741c7e600b7618");
	result = (struct trace_read){ 0 };
}
END_TEST

/* Of the bytes of all members, whether they are read for the text or by themselves. */
START_TEST(stored)
{
	char packed[1024], sum[SHA256_HEX_SIZE];
	size_t size = gzip("timestamp,operation,filename,mono_ns\n" GOOD, packed, sizeof(packed));
	struct sha256_ctx hash;

	size += gzip(GOOD, packed + size, sizeof(packed) - size);
	sha256_init(&hash);
	sha256_update(&hash, size, (const uint8_t *)packed);
	sha256_hex(&hash, sum);
	folder_put_bytes(&folder, "two.csv.gz", packed, size);
	result.wants_stored_sha256 = true;
	ck_assert_int_eq(read_file("two.csv.gz"), 0);
	ck_assert_uint_eq(scan.rows, 2);
	ck_assert_str_eq(result.stored_sha256, sum);
	result = (struct trace_read){ 0 };
	ck_assert_int_eq(trace_read_stored(folder.fd, "two.csv.gz", &result), 0);
	ck_assert_uint_eq(result.stored, size);
	ck_assert_str_eq(result.stored_sha256, sum);
	ck_assert_int_eq(trace_read_stored(folder.fd, "nothing.csv.gz", &result), -ENOENT);
	result = (struct trace_read){ .progress = stop };
	ck_assert_int_eq(trace_read_stored(folder.fd, "two.csv.gz", &result), -ECANCELED);
	result = (struct trace_read){ 0 };
}
END_TEST

START_TEST(gzip_damaged)
{
	char packed[1024];
	size_t size = gzip("timestamp,operation,filename,mono_ns\n" GOOD, packed, sizeof(packed));

	for (size_t i = 0; i < size; i++) {
		folder_put_bytes(&folder, "cut.csv.gz", packed, i);
		ck_assert_int_eq(read_file("cut.csv.gz"), -ENODATA);
	}
	memcpy(packed + size, "rubbish", 7);
	folder_put_bytes(&folder, "more.csv.gz", packed, size + 7);
	ck_assert_int_eq(read_file("more.csv.gz"), -EBADMSG);
	packed[size - 6] ^= 1;
	folder_put_bytes(&folder, "sum.csv.gz", packed, size);
	ck_assert_int_eq(read_file("sum.csv.gz"), -EBADMSG);
	folder_put_bytes(&folder, "none.csv.gz", GOOD, strlen(GOOD));
	ck_assert_int_eq(read_file("none.csv.gz"), -EBADMSG);
}
END_TEST

START_TEST(no_files)
{
	folder_put_bytes(&folder, "target.csv", header, sizeof(header) - 1);
	ck_assert_int_eq(symlinkat("target.csv", folder.fd, "link.csv"), 0);
	ck_assert_int_eq(mkfifoat(folder.fd, "fifo.csv", 0600), 0);
	ck_assert_int_eq(mkdirat(folder.fd, "folder.csv", 0700), 0);
	ck_assert_int_eq(read_file("link.csv"), -ELOOP);
	ck_assert_int_eq(read_file("fifo.csv"), -EINVAL);
	ck_assert_int_eq(read_file("folder.csv"), -EINVAL);
	ck_assert_int_eq(read_file("nothing.csv"), -ENOENT);
}
END_TEST

START_TEST(ends_early)
{
	char text[4096];

	memset(text, '\n', sizeof(text));
	folder_put_bytes(&folder, "long.csv", text, sizeof(text));
	result.limit = 100;
	ck_assert_int_eq(read_file("long.csv"), 0);
	ck_assert_uint_gt(result.bytes, 100);
	result = (struct trace_read){ .progress = stop };
	ck_assert_int_eq(read_file("long.csv"), -ECANCELED);
	result = (struct trace_read){ 0 };
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_test(tests, csv_rows);
	tcase_add_test(tests, csv_lengths);
	tcase_add_loop_test(tests, csv_bad_row, 0, sizeof(bad) / sizeof(bad[0]));
	tcase_add_test(tests, csv_header);
	tcase_add_test(tests, csv_unfinished);
	tcase_add_test(tests, csv_times);
	tcase_add_test(tests, csv_endless);
	tcase_add_test(tests, json_rows);
	tcase_add_test(tests, json_bad_row);
	tcase_add_test(tests, plain_and_gzip);
	tcase_add_test(tests, checksums);
	tcase_add_test(tests, stored);
	tcase_add_test(tests, gzip_damaged);
	tcase_add_test(tests, no_files);
	tcase_add_test(tests, ends_early);
}

int main(void)
{
	return run_suite("trace", add);
}
