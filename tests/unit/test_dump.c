// SPDX-License-Identifier: GPL-2.0-or-later
/* The Dump method: its parameters, its answers, and a client that does not wait for them. */
#include "rig.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

#include "cleanup.h"
#include "protocol.h"
#include "suite.h"

#define CALL(method, parameters)                                                                   \
	"{\"method\":\"io.iotracer." method "\",\"parameters\":" parameters "}"

static struct rig rig;

static void set_up(void)
{
	rig_init(&rig);
	rig_start(&rig, "flight", ",\"flight_recorder\":1048576");
	rig_start(&rig, "files", "");
}

static void tear_down(void)
{
	rig_done(&rig);
}

static const struct rig_case calls[] = {
	{ CALL("Dump", "{}"), VARLINK_INVALID_PARAMETER, "parameter", "name" },
	{ CALL("Dump", "{\"name\":\"../etc\"}"), VARLINK_INVALID_PARAMETER, "parameter", "name" },
	{ CALL("Dump", "{\"name\":\"files\"}"), VARLINK_INVALID_PARAMETER, "parameter", "name" },
	{ CALL("Dump", "{\"name\":\"none\"}"), IOTR_NO_SUCH_SESSION, "name", "none" },
	{ CALL("Dump", "{\"name\":\"flight\",\"last_ns\":0}"), VARLINK_INVALID_PARAMETER, "parameter",
	  "last_ns" },
	{ CALL("Dump", "{\"name\":\"flight\",\"last_ns\":-1}"), VARLINK_INVALID_PARAMETER,
	  "parameter", "last_ns" },
	{ CALL("Dump", "{\"name\":\"flight\",\"last_ns\":\"1s\"}"), VARLINK_INVALID_PARAMETER,
	  "parameter", "last_ns" },
	{ CALL("Dump", "{\"name\":\"flight\",\"output\":\"here\"}"), VARLINK_INVALID_PARAMETER,
	  "parameter", "output" },
	{ CALL("Dump", "{\"name\":\"flight\",\"output\":\"/a\\u0000b\"}"), VARLINK_INVALID_PARAMETER,
	  "parameter", "output" },
	{ CALL("Dump", "{\"name\":\"flight\",\"output\":\"/proc\"}"), IOTR_OUTPUT_UNUSABLE, "path",
	  "/proc" },
	{ CALL("Rotate", "{\"name\":\"flight\"}"), IOTR_FAILED, "message",
	  "session flight is a flight recorder: its rows are in memory, and Dump writes them" },
	{ CALL("Rotate", "{}"), "", NULL, NULL },
};

START_TEST(answers)
{
	rig_judge(&rig, &calls[_i]);
}
END_TEST

START_TEST(writes_rows)
{
	_cleanup_close_ int fd = rig_connect(&rig);
	_cleanup_json_ struct json_object *reply = NULL;

	fake_ring_fill(5);
	reply = rig_call(&rig, fd, CALL("Dump", "{\"name\":\"flight\",\"last_ns\":60000000000}"));
	ck_assert_str_eq(rig_error(reply), "");
	ck_assert_ptr_nonnull(strstr(rig_text_at(reply, "/parameters/dump/output"), "/log/flight/"));
	ck_assert_str_eq(rig_text_at(reply, "/parameters/dump/streams/vfs/written"), "5");
	ck_assert_str_eq(rig_text_at(reply, "/parameters/dump/whole"), "true");
}
END_TEST

/* With a file size limit of 0, writes fail as on a full disk. */
START_TEST(tells_that_it_cannot_write)
{
	struct rlimit before, none;
	char text[256], message[256];

	snprintf(text, sizeof(text), CALL("Dump", "{\"name\":\"flight\",\"output\":\"%s/full\"}"), rig.folder.path);
	snprintf(message, sizeof(message), "cannot write in %s/full: %s", rig.folder.path, strerror(EFBIG));
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
	none = (struct rlimit){ 0, before.rlim_max };
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &none), 0);
	rig_expect(&rig, text, IOTR_FAILED, "message", message);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
}
END_TEST

START_TEST(dumps_once_at_a_time)
{
	static const char text[] = CALL("Dump", "{\"name\":\"flight\"}");
	_cleanup_close_ int fd = rig_connect(&rig);
	_cleanup_json_ struct json_object *reply = NULL;

	fake_disk_hold();
	ck_assert(rig_send(&rig, fd, text, sizeof(text)));
	rig_settle(&rig);
	rig_expect(&rig, text, IOTR_FAILED, "message",
		   "a dump of session flight is being written: try again when it is done");
	fake_disk_let_go();
	reply = rig_receive(&rig, fd);
	ck_assert_str_eq(rig_error(reply), "");
	rig_expect(&rig, text, "", NULL, NULL);
}
END_TEST

static bool dumps(const char *text)
{
	_cleanup_close_ int fd = rig_connect(&rig);
	_cleanup_json_ struct json_object *reply = rig_call(&rig, fd, text);

	return !*rig_error(reply);
}

/* The client disconnects, the dump goes on, and the next client is answered. */
START_TEST(survives_its_caller)
{
	static const char text[] = CALL("Dump", "{\"name\":\"flight\"}");
	int fd = rig_connect(&rig);

	fake_disk_hold();
	ck_assert(rig_send(&rig, fd, text, sizeof(text)));
	rig_settle(&rig);
	close(fd);
	rig_settle(&rig);
	rig_expect(&rig, text, IOTR_FAILED, NULL, NULL);
	fake_disk_let_go();
	while (!dumps(text))
		rig_settle(&rig);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_loop_test(tests, answers, 0, sizeof(calls) / sizeof(calls[0]));
	tcase_add_test(tests, writes_rows);
	tcase_add_test(tests, tells_that_it_cannot_write);
	tcase_add_test(tests, dumps_once_at_a_time);
	tcase_add_test(tests, survives_its_caller);
}

int main(void)
{
	return run_suite("dump", add);
}
