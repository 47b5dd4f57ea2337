// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows as text, as the client anonymises them, against the golden files of every stream. */
#include "anonymize/row.h"

#include <errno.h>
#include <stdarg.h>

#include "golden.h"
#include "suite.h"

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))

static struct iotr_anonymizer *anonymizer;
static struct anonymize_rows rows;
static const char *names[ANONYMIZE_COLUMNS_MAX];
static struct verify_stream stream;
static struct verify_segment segment;
static struct anonymize_known known;
static char scratch[TRACE_ROW_MAX];
static char said[512];

void complain(const char *hint, const char *format, ...);
void complain(const char *hint, const char *format, ...)
{
	va_list arguments;

	(void)hint;
	va_start(arguments, format);
	vsnprintf(said, sizeof(said), format, arguments);
	va_end(arguments);
}

static void describe(enum iotr_stream number, enum iotr_format format)
{
	const struct iotr_schema *schema = &iotr_schemas[number];

	for (size_t i = 0; i < schema->column_count; i++)
		names[i] = schema->columns[i].name;
	stream = (struct verify_stream){ .flag = schema->flag,
					 .names = names,
					 .columns = { .names = names, .count = schema->column_count } };
	known = (struct anonymize_known){ schema->columns, schema->column_count };
	segment = (struct verify_segment){ .stream = &stream, .path = "x/x_000001.csv", .format = format };
}

static void begin(enum iotr_stream number, enum iotr_format format)
{
	uint8_t key[IOTR_ANONYMIZE_KEY_SIZE];

	anonymizer = golden_anonymizer(key);
	describe(number, format);
	ck_assert(anonymize_rows_init(&rows, anonymizer, &segment, &known));
	rows.scratch = scratch;
}

static void end(void)
{
	iotr_anonymizer_free(anonymizer);
}

START_TEST(makes_golden_rows)
{
	static char text[GOLDEN_SIZE], actual[4 * GOLDEN_SIZE];
	char *rest = text, *line, *to = actual;

	begin((enum iotr_stream)_i, IOTR_FORMAT_CSV);
	golden_read_csv((enum iotr_stream)_i, text);
	line = strsep(&rest, "\n");
	to += sprintf(to, "%s\n", line);
	while ((line = strsep(&rest, "\n")) && *line) {
		ssize_t size = anonymize_row(&rows, line, strlen(line), to);

		ck_assert_msg(size > 0, "%s", line);
		to[size] = '\n';
		to += size + 1;
	}
	*to = '\0';
	golden_compare((enum iotr_stream)_i, ".anonymized.csv", actual);
	end();
}
END_TEST

static ssize_t try_row(const char *row, char *out)
{
	ssize_t size = anonymize_row(&rows, row, strlen(row), out);

	if (size >= 0)
		out[size] = '\0';
	return size;
}

#define DROP_CSV "t,TCP_RETRANSMIT,0,0,%s,TCP,4,%s,,1,2,ESTABLISHED,0,,0,0,,0,1"
#define DROP_JSON "{\"timestamp\":\"t\",\"operation\":\"TCP_RETRANSMIT\",\"pid\":0,\"tid\":0,\"command\":%s," \
		  "\"protocol\":\"TCP\",\"ip_version\":4,\"source_addr\":%s,\"dest_addr\":null," \
		  "\"source_port\":1,\"dest_port\":2,\"tcp_state\":\"ESTABLISHED\",\"packet_size\":0,\"segments\":null," \
		  "\"ppid\":0,\"uid\":0,\"cgroup_id\":null,\"cpu_id\":0,\"mono_ns\":1}"

/* The same row in both formats has the same texts. */
START_TEST(takes_json)
{
	static char row[4096], out[8192], expected[4096];
	char command[64] = "", address[64] = "", texts[2][80];

	begin(IOTR_DROP, IOTR_FORMAT_CSV);
	snprintf(row, sizeof(row), DROP_CSV, "\"a\"\"b\\x5c,\"", "10.0.0.1");
	ck_assert_int_gt(try_row(row, out), 0);
	sscanf(out, "t,TCP_RETRANSMIT,0,0,%63[^,],TCP,4,%63[^,]", command, address);
	ck_assert_uint_eq(strlen(command), IOTR_ANONYMIZED_HASH);
	ck_assert_str_eq(address, "wcm4vk7pog5lhhi2.ipv4");
	end();

	begin(IOTR_DROP, IOTR_FORMAT_JSONL);
	snprintf(row, sizeof(row), DROP_JSON, "\"a\\\"b\\\\x5c,\"", "\"10.0.0.1\"");
	ck_assert_int_gt(try_row(row, out), 0);
	snprintf(texts[0], sizeof(texts[0]), "\"%s\"", command);
	snprintf(texts[1], sizeof(texts[1]), "\"%s\"", address);
	snprintf(expected, sizeof(expected), DROP_JSON, texts[0], texts[1]);
	ck_assert_str_eq(out, expected);
	end();
}
END_TEST

START_TEST(keeps_what_is_unknown)
{
	static char row[4096], out[8192];

	begin(IOTR_DROP, IOTR_FORMAT_JSONL);
	sprintf(row, DROP_JSON, "null", "\"\"");
	ck_assert_int_gt(try_row(row, out), 0);
	ck_assert_str_eq(out, row);
	end();
}
END_TEST

static const char *const bad_csv[] = {
	"", "t", "t,", "t,READ,0,0,cat", DROP_CSV ",", DROP_CSV "\"", "\"" DROP_CSV,
	"t,TCP_RETRANSMIT,0,0,\"cat\"x,TCP,4,,,1,2,ESTABLISHED,0,,0,0,,0,1",
	"t,TCP_RETRANSMIT,0,0,\"cat,TCP,4,,,1,2,ESTABLISHED,0,,0,0,,0,1",
	"t,TCP_RETRANSMIT,0,0,\"cat\"\",TCP,4,,,1,2,ESTABLISHED,0,,0,0,,0,1",
	"\"\"\"", ",,,,,,,,,,,,,,,,,,,", "t,x,0,0,cat,TCP,4,,,1,2,ESTABLISHED,0,,0,0,,0,\"",
};

START_TEST(refuses_bad_csv)
{
	static char out[65536];

	begin(IOTR_DROP, IOTR_FORMAT_CSV);
	ck_assert_int_eq(try_row(bad_csv[_i], out), -EBADMSG);
	end();
}
END_TEST

static const char *const bad_json[] = {
	"", "{", "}", "{}", "{\"timestamp\"", "{\"timestamp\":", "{\"timestamp\":\"", "{\"timestamp\":\"t\\",
	"{\"timestamp\":\"t\\n\",", "{\"timestamp\":\"t\"", "{\"timestamp\":\"t\",\"operation\":null}",
	"{\"operation\":1", "[1]", DROP_JSON " ", DROP_JSON "}", " " DROP_JSON,
};

START_TEST(refuses_bad_json)
{
	static char out[65536], row[4096];

	begin(IOTR_DROP, IOTR_FORMAT_JSONL);
	snprintf(row, sizeof(row), "%s", bad_json[_i]);
	ck_assert_int_eq(try_row(row, out), -EBADMSG);
	end();
}
END_TEST

/* A row that is cut anywhere is refused, and nothing outside it is read or written. */
START_TEST(refuses_cut_rows)
{
	static char row[4096], out[65536];
	size_t length;

	begin(IOTR_DROP, _i ? IOTR_FORMAT_JSONL : IOTR_FORMAT_CSV);
	if (_i)
		sprintf(row, DROP_JSON, "\"a\\\"b\"", "\"::1\"");
	else
		sprintf(row, DROP_CSV, "\"a\"\"b\"", "::1");
	length = strlen(row);
	ck_assert_int_gt(anonymize_row(&rows, row, length, out), 0);
	for (size_t size = 0; size + 2 < length; size++) {
		char *copy = malloc(size ?: 1);

		memcpy(copy, row, size);
		ck_assert_int_eq(anonymize_row(&rows, copy, size, out), -EBADMSG);
		free(copy);
	}
	end();
}
END_TEST

/* The row that grows the most: a path of one-letter folders, as long as a row can be. */
START_TEST(bounds_rows)
{
	static char row[TRACE_ROW_MAX];
	char *out = malloc(ANONYMIZE_ROW_MAX);
	ssize_t size;

	begin(IOTR_SOCKOPT, IOTR_FORMAT_CSV);
	memset(row, 'a', sizeof(row));
	memcpy(row, "t,SET,0,0,", 10);
	memcpy(row + sizeof(row) - 30, ",0,a,b,cat,0,0,0,0,0,123456789", 30);
	size = anonymize_row(&rows, row, sizeof(row), out);
	ck_assert_int_gt(size, 0);
	ck_assert_int_le(size, ANONYMIZE_ROW_MAX);
	end();
	free(out);
}
END_TEST

START_TEST(refuses_unknown_columns)
{
	uint8_t key[IOTR_ANONYMIZE_KEY_SIZE];

	anonymizer = golden_anonymizer(key);
	describe(IOTR_VFS, IOTR_FORMAT_CSV);
	names[5] = "novelty";
	ck_assert(!anonymize_rows_init(&rows, anonymizer, &segment, &known));
	ck_assert_ptr_nonnull(strstr(said, "novelty"));
	describe(IOTR_VFS, IOTR_FORMAT_CSV);
	stream.flag = "bogus";
	known.count = 0;
	ck_assert(!anonymize_rows_init(&rows, anonymizer, &segment, &known));
	ck_assert_ptr_nonnull(strstr(said, "bogus"));
	end();
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_loop_test(tests, makes_golden_rows, 0, IOTR_STREAM_COUNT);
	tcase_add_test(tests, takes_json);
	tcase_add_test(tests, keeps_what_is_unknown);
	tcase_add_loop_test(tests, refuses_bad_csv, 0, LENGTH(bad_csv));
	tcase_add_loop_test(tests, refuses_bad_json, 0, LENGTH(bad_json));
	tcase_add_loop_test(tests, refuses_cut_rows, 0, 2);
	tcase_add_test(tests, bounds_rows);
	tcase_add_test(tests, refuses_unknown_columns);
}

int main(void)
{
	return run_suite("anonymize_row", add);
}
