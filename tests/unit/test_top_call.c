// SPDX-License-Identifier: GPL-2.0-or-later
/* The Top method: its session begins and ends with the call. */
#include "rig.h"

#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "protocol.h"
#include "suite.h"

#define TOP(parameters)                                                                            \
	"{\"method\":\"io.iotracer.Top\",\"more\":true,\"parameters\":" parameters "}"

static struct rig rig;

static void set_up(void)
{
	rig_init(&rig);
}

static void tear_down(void)
{
	rig_done(&rig);
}

static int open_top(const char *text)
{
	int fd = rig_connect(&rig);

	ck_assert(rig_send(&rig, fd, text, strlen(text) + 1));
	return fd;
}

/* Adds up replies, as one may have come before the rows; no row is in two of them. */
static void await_rows(int fd, uint64_t rows)
{
	uint64_t told = 0;

	fake_ring_fill(rows);
	while (told < rows) {
		_cleanup_json_ struct json_object *reply = rig_receive(&rig, fd);

		ck_assert(rig_continues(reply));
		told += strtoull(rig_parameter(reply, "rows"), NULL, 10);
	}
	ck_assert_uint_eq(told, rows);
}

START_TEST(looks_again_and_again)
{
	int fd = open_top(TOP("{\"streams\":[\"vfs\",\"block\"],\"interval_ns\":100000000,"
			      "\"sort\":\"rows\",\"count\":5,\"min_size\":4096}"));
	_cleanup_json_ struct json_object *status = NULL;

	rig_await_sessions(&rig, 1);
	for (int i = 0; i < 3; i++)
		await_rows(fd, 7);
	ck_assert_uint_eq(rig_count_sessions(&rig), 1);
	status = rig_status(&rig, "top-1");
	ck_assert_uint_gt(strtoull(rig_text_at(status, "/flight_recorder/size"), NULL, 10), 0);
	ck_assert_str_eq(rig_text_at(status, "/filters/min_size"), "4096");
	close(fd);
	rig_settle(&rig);
	ck_assert_uint_eq(rig_count_sessions(&rig), 0);
}
END_TEST

START_TEST(ends_with_its_session)
{
	_cleanup_close_ int fd = open_top(TOP("{\"streams\":[\"vfs\"],\"interval_ns\":100000000}"));
	bool more = true;

	json_object_put(rig_receive(&rig, fd));
	rig_expect(&rig, "{\"method\":\"io.iotracer.Stop\",\"parameters\":{\"all\":true}}", "", NULL,
		   NULL);
	while (more) {
		_cleanup_json_ struct json_object *reply = rig_receive(&rig, fd);

		more = rig_continues(reply);
		ck_assert(more || !strcmp(rig_parameter(reply, "top"), ""));
	}
}
END_TEST

#define SLOW_TOP TOP("{\"streams\":[\"vfs\"],\"paths\":[\"/tmp\"],\"interval_ns\":100000000}")

/* Its session is starting as long as the disk is held. */
static int open_slow_top(void)
{
	int fd;

	fake_disk_hold();
	fd = open_top(SLOW_TOP);
	rig_await_sessions(&rig, 1);
	return fd;
}

START_TEST(waits_for_its_session)
{
	_cleanup_close_ int fd = open_slow_top();
	_cleanup_json_ struct json_object *reply = NULL;

	fake_disk_let_go();
	reply = rig_receive(&rig, fd);
	ck_assert(rig_continues(reply));
	ck_assert_str_eq(rig_parameter(reply, "rows"), "0");
	await_rows(fd, 7);
}
END_TEST

/* The client disconnects before its session runs, and while others start and stop. */
START_TEST(hangs_up_before)
{
	int fd = open_slow_top();

	close(fd);
	rig_settle(&rig);
	ck_assert_uint_eq(rig_count_sessions(&rig), 1);
	fake_disk_let_go();
	rig_await_sessions(&rig, 0);
}
END_TEST

START_TEST(is_stopped_before)
{
	_cleanup_close_ int fd = open_slow_top();
	_cleanup_close_ int stopping = open_top("{\"method\":\"io.iotracer.Stop\",\"parameters\":{\"all\":true}}");
	_cleanup_json_ struct json_object *reply = rig_receive(&rig, fd), *stopped = NULL;

	ck_assert_str_eq(rig_error(reply), IOTR_FAILED);
	fake_disk_let_go();
	stopped = rig_receive(&rig, stopping);
	ck_assert_str_eq(rig_error(stopped), "");
}
END_TEST

static const struct {
	const char *text;
	const char *parameter;
} refused[] = {
	{ TOP("{}"), "streams" },
	{ TOP("{\"streams\":[\"zfs\"]}"), "streams" },
	{ TOP("{\"streams\":[\"vfs\"],\"interval_ns\":99999999}"), "interval_ns" },
	{ TOP("{\"streams\":[\"vfs\"],\"interval_ns\":3600000000001}"), "interval_ns" },
	{ TOP("{\"streams\":[\"vfs\"],\"count\":0}"), "count" },
	{ TOP("{\"streams\":[\"vfs\"],\"count\":1001}"), "count" },
	{ TOP("{\"streams\":[\"vfs\"],\"sort\":\"size\"}"), "sort" },
	{ TOP("{\"streams\":[\"vfs\"],\"sort\":1}"), "sort" },
	{ TOP("{\"streams\":[\"vfs\"],\"by\":\"inode\"}"), "by" },
	{ TOP("{\"streams\":[\"vfs\"],\"name\":\"a\"}"), "name" },
	{ TOP("{\"streams\":[\"vfs\"],\"output\":\"/x\"}"), "output" },
	{ TOP("{\"streams\":[\"vfs\"],\"flight_recorder\":1048576}"), "flight_recorder" },
	{ TOP("{\"streams\":[\"vfs\"],\"snapshot_root\":\"/\"}"), "snapshot_root" },
	{ TOP("{\"streams\":[\"vfs\"],\"tree\":true}"), "tree" },
	{ TOP("{\"streams\":[\"vfs\"],\"operations\":[\"DISCARD\"]}"), "operations" },
	{ TOP("{\"streams\":[\"vfs\"],\"x\":1}"), "x" },
};

START_TEST(refuses)
{
	rig_expect(&rig, refused[_i].text, VARLINK_INVALID_PARAMETER, "parameter",
		   refused[_i].parameter);
	ck_assert_uint_eq(rig_count_sessions(&rig), 0);
}
END_TEST

START_TEST(wants_more)
{
	rig_expect(&rig, "{\"method\":\"io.iotracer.Top\",\"parameters\":{\"streams\":[\"vfs\"]}}",
		   VARLINK_EXPECTED_MORE, NULL, NULL);
	ck_assert_uint_eq(rig_count_sessions(&rig), 0);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, looks_again_and_again);
	tcase_add_test(tests, ends_with_its_session);
	tcase_add_test(tests, waits_for_its_session);
	tcase_add_test(tests, hangs_up_before);
	tcase_add_test(tests, is_stopped_before);
	tcase_add_loop_test(tests, refuses, 0, sizeof(refused) / sizeof(refused[0]));
	tcase_add_test(tests, wants_more);
}

int main(void)
{
	return run_suite("top_call", add);
}
