// SPDX-License-Identifier: GPL-2.0-or-later
#include "protocol.h"

#include <errno.h>
#include <string.h>

#include "cleanup.h"
#include "suite.h"

static void append(struct iotr_buffer *buffer, const char *bytes, size_t length)
{
	ck_assert_int_eq(iotr_buffer_append(buffer, bytes, length), 0);
}

START_TEST(cuts_messages)
{
	_cleanup_(iotr_buffer_done) struct iotr_buffer buffer = { 0 };
	const char *text;
	size_t length;

	ck_assert(!iotr_buffer_message(&buffer, &text, &length));
	append(&buffer, "one\0tw", 6);
	ck_assert(iotr_buffer_message(&buffer, &text, &length));
	ck_assert(iotr_buffer_message(&buffer, &text, &length)); /* the same message until it is consumed */
	ck_assert_str_eq(text, "one");
	ck_assert_uint_eq(length, 3);
	iotr_buffer_consume(&buffer, 4);
	ck_assert(!iotr_buffer_message(&buffer, &text, &length));
	append(&buffer, "o\0\0", 3);
	ck_assert(iotr_buffer_message(&buffer, &text, &length));
	ck_assert_str_eq(text, "two");
	iotr_buffer_consume(&buffer, 4);
	ck_assert(iotr_buffer_message(&buffer, &text, &length));
	ck_assert_uint_eq(length, 0);
	iotr_buffer_consume(&buffer, 1);
	ck_assert_ptr_null(buffer.data); /* an empty buffer holds no memory */
}
END_TEST

START_TEST(keeps_bytes_in_order)
{
	_cleanup_(iotr_buffer_done) struct iotr_buffer buffer = { 0 };
	unsigned char in = 0, out = 0;

	for (size_t step = 1; step < 200; step++) {
		for (size_t i = 0; i < step; i++, in++)
			append(&buffer, (char *)&in, 1);
		for (size_t i = 0; i < step - step % 3; i++, out++) {
			ck_assert_uint_eq((unsigned char)buffer.data[buffer.begin], out);
			iotr_buffer_consume(&buffer, 1);
		}
	}
	ck_assert_uint_eq((unsigned char)(in - out), (unsigned char)buffer.length);
}
END_TEST

static const char *const malformed[] = {
	"",	     " ",	    "[]",	  "1",		"null",
	"\"text\"",  "{",	    "}",	  "{} {}",	"{}x",

	"{\"a\":}",  "{\"a\" 1}",   "{\"a\":1,}", "{\"a\":01}", "{\"a\":nan}",
	"// no\n{}", "{\"a\":tru}",

};

START_TEST(refuses_what_is_no_object)
{
	struct json_object *message = NULL;
	const char *why = "";

	ck_assert_msg(iotr_message_parse(malformed[_i], strlen(malformed[_i]), &message, &why) ==
			      -EBADMSG,
		      "%s", malformed[_i]);
	ck_assert_ptr_null(message);
	ck_assert_str_ne(why, "");
}
END_TEST

/* {"a":[[[...]]]} with so many arrays. */
static int parse_nested(size_t depth)
{
	_cleanup_json_ struct json_object *message = NULL;
	char text[512] = "{\"a\":";
	const char *why;
	size_t length = strlen(text);

	memset(text + length, '[', depth);
	memset(text + length + depth, ']', depth);
	strcpy(text + length + 2 * depth, "}");
	return iotr_message_parse(text, strlen(text), &message, &why);
}

START_TEST(bounds_the_depth)
{
	ck_assert_int_eq(parse_nested(IOTR_MESSAGE_DEPTH - 3), 0);
	ck_assert_int_eq(parse_nested(IOTR_MESSAGE_DEPTH), -EBADMSG);
	ck_assert_int_eq(parse_nested(200), -EBADMSG);
}
END_TEST

START_TEST(writes_what_it_reads)
{
	_cleanup_(iotr_buffer_done) struct iotr_buffer buffer = { 0 };
	_cleanup_json_ struct json_object *message = NULL, *again = NULL;
	const char *text, *why;
	size_t length;

	ck_assert_int_eq(iotr_message_parse("{\"a\":[1,\"/x\\u0000y\"]}", 21, &message, &why), 0);
	ck_assert_int_eq(iotr_buffer_append_json(&buffer, message), 0);
	ck_assert(iotr_buffer_message(&buffer, &text, &length));
	ck_assert_uint_eq(length + 1, buffer.length);
	ck_assert_int_eq(iotr_message_parse(text, length, &again, &why), 0);
	ck_assert(json_object_equal(message, again));
}
END_TEST

/* A call may name any path; a reply is UTF-8. */
START_TEST(replies_in_utf8)
{
	_cleanup_(iotr_buffer_done) struct iotr_buffer call = { 0 }, reply = { 0 };
	_cleanup_json_ struct json_object *message = json_object_new_object();
	const char *text;
	size_t length;

	json_object_object_add(message, "path", json_object_new_string("/\xff"));
	ck_assert_int_eq(iotr_buffer_append_json(&call, message), 0);
	ck_assert(iotr_buffer_message(&call, &text, &length));
	ck_assert_str_eq(text, "{\"path\":\"/\xff\"}");
	ck_assert_int_eq(iotr_buffer_append_reply(&reply, message), 0);
	ck_assert(iotr_buffer_message(&reply, &text, &length));
	ck_assert_str_eq(text, "{\"path\":\"/\\\\xff\"}");
	ck_assert_uint_eq(length + 1, reply.length);
}
END_TEST

START_TEST(refuses_long_paths)
{
	struct sockaddr_un address;
	char path[200];

	memset(path, 'x', sizeof(path));
	path[107] = '\0';
	ck_assert_int_eq(iotr_socket_address(path, &address), 0);
	path[107] = 'x';
	path[108] = '\0';
	ck_assert_int_eq(iotr_socket_address(path, &address), -ENAMETOOLONG);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, cuts_messages);
	tcase_add_test(tests, keeps_bytes_in_order);
	tcase_add_loop_test(tests, refuses_what_is_no_object, 0,
			    sizeof(malformed) / sizeof(malformed[0]));
	tcase_add_test(tests, bounds_the_depth);
	tcase_add_test(tests, writes_what_it_reads);
	tcase_add_test(tests, replies_in_utf8);
	tcase_add_test(tests, refuses_long_paths);
}

int main(void)
{
	return run_suite("protocol", add);
}
