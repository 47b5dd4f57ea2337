// SPDX-License-Identifier: GPL-2.0-or-later
#include "control/client.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "cleanup.h"
#include "protocol.h"
#include "rig.h"
#include "suite.h"

static struct rig rig;

static void set_up(void)
{
	rig_init(&rig);
}

static void tear_down(void)
{
	rig_done(&rig);
}

#define GET_INFO "{\"method\":\"org.varlink.service.GetInfo\"}"
#define STATUS	 "{\"method\":\"io.iotracer.Status\"}"

static const char *const broken[] = {
	"",
	"hello",
	"[]",
	"{}",
	"{\"method\":7}",
	"{\"method\":null}",
	"{\"method\":[\"a\"]}",
	"{\"method\":\"a.b\\u0000c\"}",
	"{\"method\":\"io.iotracer.List\",\"parameters\":[]}",
	"{\"method\":\"io.iotracer.List\",\"parameters\":\"x\"}",
	"{\"method\":\"io.iotracer.List\",\"more\":1}",
	"{\"method\":\"io.iotracer.List\",\"oneway\":\"true\"}",
	"{\"method\":\"io.iotracer.List\",\"upgrade\":{}}",
	"{\"method\":\"io.iotracer.List\",\"more\":true,\"oneway\":true}",
	"{\"a\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}",
};

START_TEST(closes_after_a_broken_message)
{
	_cleanup_close_ int fd = rig_connect(&rig);
	_cleanup_json_ struct json_object *reply = rig_call(&rig, fd, broken[_i]);

	ck_assert_str_eq(rig_error(reply), IOTR_PROTOCOL_ERROR);
	ck_assert_str_ne(rig_parameter(reply, "message"), "");
	ck_assert(rig_closed(&rig, fd));
}
END_TEST

START_TEST(answers_in_order)
{
	static const char calls[] = GET_INFO "\0" STATUS "\0{\"method\":\"a.B\"}\0" GET_INFO;
	_cleanup_close_ int fd = rig_connect(&rig);
	static const char *const errors[] = { "", "", VARLINK_INTERFACE_NOT_FOUND, "" };
	static const char *const products[] = { "iotracerd", "", "", "iotracerd" };

	rig_send(&rig, fd, calls, sizeof(calls));
	for (size_t i = 0; i < 4; i++) {
		_cleanup_json_ struct json_object *reply = rig_receive(&rig, fd);

		ck_assert_str_eq(rig_error(reply), errors[i]);
		ck_assert_str_eq(rig_parameter(reply, "product"), products[i]);
	}
}
END_TEST

START_TEST(takes_bytes_one_by_one)
{
	_cleanup_close_ int fd = rig_connect(&rig);
	_cleanup_json_ struct json_object *reply = NULL;

	for (size_t i = 0; i < sizeof(GET_INFO); i++) {
		rig_send(&rig, fd, &GET_INFO[i], 1);
		rig_settle(&rig);
	}
	reply = rig_receive(&rig, fd);
	ck_assert_str_eq(rig_error(reply), "");
}
END_TEST

/* A call padded with spaces to so many bytes. */
static char *padded(size_t length)
{
	char *text = malloc(length + 1);

	memset(text, ' ', length);
	memcpy(text, GET_INFO, strlen(GET_INFO));
	text[length] = '\0';
	return text;
}

START_TEST(takes_the_largest_message)
{
	_cleanup_free_ char *text = padded(IOTR_MESSAGE_MAX);
	_cleanup_close_ int fd = rig_connect(&rig);
	_cleanup_json_ struct json_object *reply = rig_call(&rig, fd, text);

	ck_assert_str_eq(rig_error(reply), "");
}
END_TEST

START_TEST(refuses_a_larger_message)
{
	_cleanup_free_ char *text = padded(IOTR_MESSAGE_MAX + 1);
	_cleanup_close_ int fd = rig_connect(&rig);
	_cleanup_json_ struct json_object *reply = rig_call(&rig, fd, text);

	ck_assert_str_eq(rig_error(reply), IOTR_PROTOCOL_ERROR);
	ck_assert(rig_closed(&rig, fd));
}
END_TEST

START_TEST(refuses_an_endless_message)
{
	_cleanup_close_ int fd = rig_connect(&rig);
	_cleanup_free_ char *text = malloc(16 << 20);

	memset(text, 'x', 16 << 20);
	ck_assert(!rig_send(&rig, fd, text, 16 << 20));
}
END_TEST

START_TEST(drops_a_half_message)
{
	_cleanup_close_ int fd = -1, idle = -1;
	_cleanup_json_ struct json_object *reply = NULL;

	rig.control.idle_usec = 100000;
	fd = rig_connect(&rig);
	idle = rig_connect(&rig);
	rig_send(&rig, fd, "{\"method\"", 9);
	ck_assert(rig_closed(&rig, fd));
	reply = rig_call(&rig, idle, GET_INFO); /* a client without a partial message stays connected */
	ck_assert_str_eq(rig_error(reply), "");
}
END_TEST

START_TEST(serves_others_beside_a_half_message)
{
	_cleanup_close_ int half = rig_connect(&rig), fd = rig_connect(&rig);
	_cleanup_json_ struct json_object *reply = NULL;

	rig_send(&rig, half, "{\"method\"", 9);
	reply = rig_call(&rig, fd, GET_INFO);
	ck_assert_str_eq(rig_error(reply), "");
}
END_TEST

/* As many calls as the server takes from a client that reads no reply. */
static size_t send_without_reading(int fd, size_t most)
{
	size_t sent = 0;

	for (; sent < most; sent++) {
		if (send(fd, GET_INFO, sizeof(GET_INFO), MSG_NOSIGNAL) < 0)
			break;
		if (sent % 64 == 0)
			rig_settle(&rig);
	}
	return sent;
}

START_TEST(holds_back_for_a_slow_reader)
{
	_cleanup_close_ int fd = rig_connect(&rig);
	size_t sent = send_without_reading(fd, 100000);

	ck_assert_uint_gt(sent, 1000);
	ck_assert_uint_lt(sent, 100000); /* the socket is full, and the server reads no more */
	for (size_t i = 0; i < sent; i++) {
		_cleanup_json_ struct json_object *reply = rig_receive(&rig, fd);

		ck_assert_str_eq(rig_error(reply), "");
	}
}
END_TEST

START_TEST(cuts_off_a_stalled_reader)
{
	_cleanup_close_ int fd = -1, other = -1;
	_cleanup_json_ struct json_object *reply = NULL;
	unsigned waited = 0;

	rig.control.stall_usec = 200000;
	fd = rig_connect(&rig);
	other = rig_connect(&rig);
	send_without_reading(fd, 100000);
	while (send(fd, "x", 1, MSG_NOSIGNAL) < 0 && errno == EAGAIN && waited++ < 1000)
		sd_event_run(rig.control.event, 10000);
	ck_assert_int_lt(send(fd, "x", 1, MSG_NOSIGNAL), 0);
	ck_assert_int_eq(errno, EPIPE);
	reply = rig_call(&rig, other, GET_INFO);
	ck_assert_str_eq(rig_error(reply), "");
}
END_TEST

START_TEST(answers_after_half_a_close)
{
	_cleanup_close_ int fd = rig_connect(&rig);
	_cleanup_json_ struct json_object *reply = NULL;

	rig_send(&rig, fd, GET_INFO, sizeof(GET_INFO));
	shutdown(fd, SHUT_WR);
	reply = rig_receive(&rig, fd);
	ck_assert_str_eq(rig_error(reply), "");
	ck_assert(rig_closed(&rig, fd));
}
END_TEST

START_TEST(survives_a_client_that_leaves)
{
	static const char start[] =
		"{\"method\":\"io.iotracer.Start\",\"parameters\":{\"streams\":[\"vfs\"]}}";

	for (int i = 0; i < 200; i++) {
		_cleanup_close_ int fd = rig_connect(&rig);

		rig_send(&rig, fd, start, (size_t)(i % (int)sizeof(start)) + 1);
		if (i % 3 == 0)
			rig_settle(&rig);
	}
	rig_settle(&rig);
	rig_expect(&rig, GET_INFO, "", NULL, NULL);
}
END_TEST

/* Valid calls with a few bytes changed, some of them whole, some cut short. */
START_TEST(survives_noise)
{
	static const char call[] =
		"{\"method\":\"io.iotracer.Start\",\"more\":true,\"parameters\":{\"name\":\"a\","
		"\"streams\":[\"vfs\",\"block\"],\"pids\":[1,2],\"uids\":[\"root\",3],"
		"\"operations\":[\"vfs.READ\"],\"devices\":[\"8:0\"],\"min_size\":4096}}";
	char text[sizeof(call)];

	srandom(1);
	for (int i = 0; i < 1500; i++) {
		_cleanup_close_ int fd = rig_connect(&rig);

		memcpy(text, call, sizeof(call));
		for (long changes = random() % 4; changes > 0; changes--)
			text[(size_t)random() % sizeof(text)] = (char)random();
		rig_send(&rig, fd, text, 1 + (size_t)random() % sizeof(text));
		rig_send(&rig, fd, text, sizeof(text));
		if (i % 8 == 0)
			rig_settle(&rig);
		else
			sd_event_run(rig.control.event, 0);
	}
	rig_settle(&rig);
	rig_expect(&rig, GET_INFO, "", NULL, NULL);
}
END_TEST

START_TEST(says_nothing_to_oneway)
{
	static const char calls[] =
		"{\"method\":\"io.iotracer.Start\",\"oneway\":true,"
		"\"parameters\":{\"streams\":[\"vfs\"],\"name\":\"quiet\"}}\0"
		"{\"method\":\"io.iotracer.Nothing\",\"oneway\":true}\0"
		"{\"method\":\"io.iotracer.Status\",\"parameters\":{\"name\":\"quiet\"}}";
	_cleanup_close_ int fd = rig_connect(&rig);
	_cleanup_json_ struct json_object *reply = NULL;

	rig_send(&rig, fd, calls, sizeof(calls));
	reply = rig_receive(&rig, fd);
	ck_assert_str_eq(rig_error(reply), "");
	ck_assert_str_ne(rig_parameter(reply, "sessions"), "");
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_loop_test(tests, closes_after_a_broken_message, 0,
			    sizeof(broken) / sizeof(broken[0]));
	tcase_add_test(tests, answers_in_order);
	tcase_add_test(tests, takes_bytes_one_by_one);
	tcase_add_test(tests, takes_the_largest_message);
	tcase_add_test(tests, refuses_a_larger_message);
	tcase_add_test(tests, refuses_an_endless_message);
	tcase_add_test(tests, drops_a_half_message);
	tcase_add_test(tests, serves_others_beside_a_half_message);
	tcase_add_test(tests, holds_back_for_a_slow_reader);
	tcase_add_test(tests, cuts_off_a_stalled_reader);
	tcase_add_test(tests, answers_after_half_a_close);
	tcase_add_test(tests, survives_a_client_that_leaves);
	tcase_add_test(tests, survives_noise);
	tcase_add_test(tests, says_nothing_to_oneway);
}

int main(void)
{
	return run_suite("client", add);
}
