// SPDX-License-Identifier: GPL-2.0-or-later
#include "control/tail.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "cleanup.h"
#include "protocol.h"
#include "rig.h"
#include "suite.h"

static struct rig rig;

#define TAIL(parameters)                                                                           \
	"{\"method\":\"io.iotracer.Tail\",\"more\":true,\"parameters\":" parameters "}"

static void set_up(void)
{
	rig_init(&rig);
	rig_start(&rig, "one", "");
}

static void tear_down(void)
{
	rig_done(&rig);
}

static int open_tail(const char *text)
{
	int fd = rig_connect(&rig);

	rig_send(&rig, fd, text, strlen(text) + 1);
	rig_settle(&rig);
	return fd;
}

START_TEST(shows_rows_until_the_end)
{
	_cleanup_close_ int fd = open_tail(TAIL("{\"name\":\"one\",\"streams\":[\"vfs\"]}"));
	_cleanup_json_ struct json_object *last = NULL, *info = NULL;

	fake_ring_fill(3);
	for (int i = 0; i < 3; i++) {
		_cleanup_json_ struct json_object *reply = rig_receive(&rig, fd);

		ck_assert(rig_continues(reply));
		ck_assert_str_eq(rig_text_at(reply, "/parameters/row/stream"), "vfs");
		ck_assert_str_eq(rig_text_at(reply, "/parameters/row/columns/operation"), "READ");
		ck_assert_str_eq(rig_text_at(reply, "/parameters/row/columns/pid"), "4711");
		ck_assert_str_eq(rig_text_at(reply, "/parameters/row/columns/command"), "fake");
		ck_assert_str_eq(rig_parameter(reply, "skipped"), "0");
	}
	rig_stop(&rig, "one");
	last = rig_receive(&rig, fd);
	ck_assert(!rig_continues(last));
	ck_assert_str_eq(rig_parameter(last, "row"), "");
	info = rig_call(&rig, fd, "{\"method\":\"org.varlink.service.GetInfo\"}");
	ck_assert_str_eq(rig_error(info), "");
	ck_assert_uint_eq(rig_tails(), 0);
}
END_TEST

START_TEST(chooses_the_only_session)
{
	_cleanup_close_ int fd = open_tail(TAIL("{}"));

	ck_assert_uint_eq(rig_tails(), 1);
	rig_start(&rig, "two", "");
	rig_expect(&rig, TAIL("{}"), VARLINK_INVALID_PARAMETER, "parameter", "name");
}
END_TEST

static const struct rig_case refused[] = {
	{ "{\"method\":\"io.iotracer.Tail\"}", VARLINK_EXPECTED_MORE, NULL, NULL },
	{ TAIL("{\"name\":\"two\"}"), IOTR_NO_SUCH_SESSION, "name", "two" },
	{ TAIL("{\"name\":\"a/b\"}"), VARLINK_INVALID_PARAMETER, "parameter", "name" },
	{ TAIL("{\"streams\":[]}"), VARLINK_INVALID_PARAMETER, "parameter", "streams" },
	{ TAIL("{\"streams\":[\"zfs\"]}"), VARLINK_INVALID_PARAMETER, "parameter", "streams" },
	{ TAIL("{\"since\":1}"), VARLINK_INVALID_PARAMETER, "parameter", "since" },
};

START_TEST(refuses)
{
	rig_judge(&rig, &refused[_i]);
	ck_assert_uint_eq(rig_tails(), 0);
}
END_TEST

START_TEST(ends_with_its_client)
{
	int fd = open_tail(TAIL("{}"));

	ck_assert_uint_eq(rig_tails(), 1);
	fake_ring_fill(1);
	close(fd);
	rig_settle(&rig);
	ck_assert_uint_eq(rig_tails(), 0);
	fake_ring_fill(1);
}
END_TEST

START_TEST(ends_with_the_server)
{
	_cleanup_close_ int fd = open_tail(TAIL("{}"));
	_cleanup_json_ struct json_object *last = NULL;

	rig_end_server(&rig);
	last = rig_receive(&rig, fd);
	ck_assert(!rig_continues(last));
	ck_assert_uint_eq(rig_tails(), 0);
}
END_TEST

START_TEST(later_calls_wait)
{
	_cleanup_close_ int fd = open_tail(TAIL("{}"));
	static const char next[] = "{\"method\":\"io.iotracer.List\"}";

	rig_send(&rig, fd, next, sizeof(next));
	fake_ring_fill(1);
	for (int i = 0; i < 2; i++) {
		_cleanup_json_ struct json_object *reply = rig_receive(&rig, fd);

		ck_assert_int_eq(rig_continues(reply), i == 0);
		if (i == 0)
			rig_stop(&rig, "one");
	}
	_cleanup_json_ struct json_object *list = rig_receive(&rig, fd);
	ck_assert_str_eq(rig_parameter(list, "sessions"), "[ ]");
}
END_TEST

/* Sends without running the loop. */
static void await_written(uint64_t rows)
{
	uint64_t written = 0;

	while (written < rows) {
		_cleanup_json_ struct json_object *sessions = NULL;

		ck_assert_int_eq(engine_status(rig.engine, "one", &sessions), 0);
		written = strtoull(rig_text_at(sessions, "/0/streams/vfs/written"), NULL, 10);
		usleep(1000);
	}
	ck_assert_uint_eq(written, rows);
}

/* Every row is either shown or counted as skipped. */
START_TEST(counts_what_a_slow_reader_misses)
{
	_cleanup_close_ int fd = open_tail(TAIL("{}"));
	enum { ROWS = 12000 };
	uint64_t shown = 0, skipped = 0;
	bool more = true;

	fake_ring_fill(ROWS);
	await_written(ROWS);
	rig_stop(&rig, "one");
	while (more) {
		_cleanup_json_ struct json_object *reply = rig_receive(&rig, fd);

		shown += *rig_parameter(reply, "row") != '\0';
		skipped += strtoull(rig_parameter(reply, "skipped"), NULL, 10);
		more = rig_continues(reply);
	}
	ck_assert_uint_gt(skipped, 0);
	ck_assert_uint_eq(shown + skipped, ROWS);
}
END_TEST

START_TEST(cuts_off_a_stalled_reader)
{
	_cleanup_close_ int fd = -1;

	rig.control.stall_usec = 200000;
	fd = open_tail(TAIL("{}"));
	for (int i = 0; i < 300 && rig_tails(); i++) {
		fake_ring_fill(1000);
		sd_event_run(rig.control.event, 10000);
	}
	ck_assert_uint_eq(rig_tails(), 0);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, shows_rows_until_the_end);
	tcase_add_test(tests, chooses_the_only_session);
	tcase_add_loop_test(tests, refuses, 0, sizeof(refused) / sizeof(refused[0]));
	tcase_add_test(tests, ends_with_its_client);
	tcase_add_test(tests, ends_with_the_server);
	tcase_add_test(tests, later_calls_wait);
	tcase_add_test(tests, counts_what_a_slow_reader_misses);
	tcase_add_test(tests, cuts_off_a_stalled_reader);
}

int main(void)
{
	return run_suite("tail", add);
}
