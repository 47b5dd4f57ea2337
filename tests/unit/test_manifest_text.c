// SPDX-License-Identifier: GPL-2.0-or-later
/* Manifests whose segments are read one by one, and written as text. */
#include "manifest_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "suite.h"

static struct manifest_reader reader;
static struct json_object *manifest;

static int open_text(const char *text, size_t size)
{
	int fd = memfd_create("manifest", MFD_CLOEXEC);

	ck_assert_int_eq(write(fd, text, size), (ssize_t)size);
	return manifest_reader_init(&reader, fd, &manifest);
}

static int init(const char *text)
{
	return open_text(text, strlen(text));
}

static void done(void)
{
	manifest_reader_done(&reader);
	json_object_put(manifest);
	manifest = NULL;
}

static void next_is(const char *text)
{
	struct json_object *element = NULL;

	ck_assert_int_eq(manifest_reader_next(&reader, &element), 1);
	ck_assert_str_eq(json_object_to_json_string_ext(element, JSON_C_TO_STRING_PLAIN), text);
	json_object_put(element);
}

static void rest_is(int result)
{
	struct json_object *element = NULL;

	ck_assert_int_eq(manifest_reader_next(&reader, &element), result);
}

static void frame_is(const char *text)
{
	ck_assert_str_eq(json_object_to_json_string_ext(manifest, JSON_C_TO_STRING_PLAIN), text);
}

START_TEST(one_by_one)
{
	struct json_object *again;
	uint64_t from;

	ck_assert_int_eq(init("{\"a\": 1, \"segments\" : [ {\"x\": \"a,]}\\\"\"} ,\n [1, [2]], 7, \"y\" ], \"b\": [{\"c\": 2}]}\n"), 0);
	frame_is("{\"a\":1,\"segments\":[],\"b\":[{\"c\":2}]}");
	for (int i = 0; i < 2; i++) {
		next_is("{\"x\":\"a,]}\\\"\"}");
		next_is("[1,[2]]");
		from = reader.from;
		next_is("7");
		next_is("\"y\"");
		rest_is(0);
		rest_is(0);
		manifest_reader_rewind(&reader);
	}
	again = manifest_reader_again(&reader, from, strlen("[1, [2]]"));
	ck_assert_str_eq(json_object_to_json_string_ext(again, JSON_C_TO_STRING_PLAIN), "[1,[2]]");
	json_object_put(again);
	ck_assert_ptr_null(manifest_reader_again(&reader, 1 << 20, 10));
	done();
}
END_TEST

/* Only the list of segments of the manifest itself is left out, no other of that name. */
START_TEST(other_lists)
{
	ck_assert_int_eq(init("{\"x\":{\"segments\":[1]},\"n\":\"segments\",\"y\":[\"segments\",[2]],\"segments\":[3]}"), 0);
	frame_is("{\"x\":{\"segments\":[1]},\"n\":\"segments\",\"y\":[\"segments\",[2]],\"segments\":[]}");
	next_is("3");
	rest_is(0);
	done();
	ck_assert_int_eq(init("{\"segments\": [], \"a\": 1}"), 0);
	ck_assert(reader.list);
	rest_is(0);
	done();
	ck_assert_int_eq(init("{\"segments\": {\"a\": [1]}}"), 0);
	ck_assert(!reader.list);
	rest_is(0);
	done();
}
END_TEST

START_TEST(refused)
{
	static const char *const texts[] = {
		"", "{", "[]", "null", "{\"segments\":[", "{\"segments\":[\"", "{\"segments\":[1]", "[\"segments\",[1]]",
		"{\"segments\":[1],\"segments\":[2]}", "{\"a", "{\"a\\", "{\"segments\":[[1}",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		ck_assert_msg(init(texts[i]) == -EBADMSG, "%s", texts[i]);
		done();
	}
	ck_assert_int_eq(init("{\"segments\":[1,,2]}"), 0);
	next_is("1");
	rest_is(-EBADMSG);
	done();
	ck_assert_int_eq(init("{\"segments\":[{\"a\"}]}"), 0);
	rest_is(-EBADMSG);
	done();
	ck_assert_int_eq(manifest_reader_init(&reader, open("/", O_RDONLY | O_CLOEXEC), &manifest), -EIO);
	done();
}
END_TEST

/* A manifest with too much besides its segments is refused. */
START_TEST(large_parts)
{
	size_t size = 17 << 20;
	char *text = malloc(size);

	memset(text, ' ', size);
	ck_assert_int_eq(open_text(text, size), -EFBIG);
	done();
	memset(text, '\0', size);
	ck_assert_int_eq(open_text(text, size), -EFBIG);
	done();
	memcpy(text, "{\"segments\":[\"", 14);
	memset(text + 14, 'x', size - 14);
	memcpy(text + size - 3, "\"]}", 3);
	ck_assert_int_eq(open_text(text, size), 0);
	rest_is(-EFBIG);
	done();
	free(text);
}
END_TEST

/* Peak of the resident memory in KiB; 0 with AddressSanitizer, which keeps memory that was freed. */
static long peak(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
#ifdef __SANITIZE_ADDRESS__
	return 0;
#else
	return usage.ru_maxrss;
#endif
}

/* Segments lie across the borders of the blocks that are read, and very many take no more memory. */
START_TEST(very_many)
{
	enum { COUNT = OFTEN(400000) };
	int fd = memfd_create("manifest", MFD_CLOEXEC);
	FILE *file = fdopen(dup(fd), "w");
	struct json_object *element;
	long before;

	fputs("{\"segments\": [", file);
	for (int i = 0; i < COUNT; i++)
		fprintf(file, "%s{\"path\": \"%0*d\", \"number\": %d}", i ? ", " : "", 100 + i % 97, i, i);
	fputs("]}", file);
	fclose(file);
	before = peak();
	ck_assert_int_eq(manifest_reader_init(&reader, fd, &manifest), 0);
	for (int i = 0; i < COUNT; i++) {
		ck_assert_int_eq(manifest_reader_next(&reader, &element), 1);
		ck_assert_int_eq(json_object_get_int(json_object_object_get(element, "number")), i);
		ck_assert_int_eq(atoi(json_object_get_string(json_object_object_get(element, "path"))), i);
		json_object_put(element);
	}
	rest_is(0);
	ck_assert_int_lt(peak() - before, 16 * 1024);
	done();
}
END_TEST

/* What is not UTF-8 in a name that somebody gave is escaped, as readers of JSON refuse it. */
START_TEST(written_as_utf8)
{
	struct json_object *frame = json_object_new_object();
	struct manifest_segments segments = { 0 };
	struct iovec pieces[MANIFEST_PIECES];
	char *escaped;

	json_object_object_add(frame, "a", json_object_new_string("/\xff\xc3\xa4"));
	ck_assert_uint_gt(manifest_pieces(frame, &segments, pieces, &escaped), 0);
	ck_assert_uint_eq(pieces[0].iov_len, strlen("{\n  \"a\": \"/\\\\xff\xc3\xa4\""));
	ck_assert_mem_eq(pieces[0].iov_base, "{\n  \"a\": \"/\\\\xff\xc3\xa4\"", pieces[0].iov_len);
	free(escaped);
	json_object_put(frame);
}
END_TEST

START_TEST(written)
{
	struct json_object *frame = json_tokener_parse("{\"a\": 1, \"segments\": [9], \"b\": 2}"), *segment;
	struct manifest_segments segments = { 0 };
	struct iovec pieces[MANIFEST_PIECES];
	char text[256] = "", *escaped;
	size_t size, there = 0;

	segment = json_tokener_parse("{\"path\": \"a/b\"}");
	manifest_segments_add_json(&segments, segment);
	manifest_segments_add(&segments, "2 3", 1);
	size = manifest_pieces(frame, &segments, pieces, &escaped);
	ck_assert_ptr_null(escaped);
	for (size_t i = 0; i < MANIFEST_PIECES; i++) {
		memcpy(text + there, pieces[i].iov_base, pieces[i].iov_len);
		there += pieces[i].iov_len;
	}
	ck_assert_uint_eq(size, there);
	ck_assert_str_eq(text, "{\n  \"a\": 1,\n  \"b\": 2,\n  \"segments\": [\n    { \"path\": \"a/b\" },\n    2\n  ]\n}\n");
	ck_assert_int_eq(init(text), 0);
	frame_is("{\"a\":1,\"b\":2,\"segments\":[]}");
	next_is("{\"path\":\"a\\/b\"}");
	next_is("2");
	rest_is(0);
	done();
	manifest_segments_done(&segments);
	json_object_put(segment);
	json_object_put(frame);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, one_by_one);
	tcase_add_test(tests, other_lists);
	tcase_add_test(tests, refused);
	tcase_add_test(tests, large_parts);
	tcase_add_test(tests, very_many);
	tcase_add_test(tests, written);
	tcase_add_test(tests, written_as_utf8);
}

int main(void)
{
	return run_suite("manifest_text", add);
}
