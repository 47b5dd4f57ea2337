// SPDX-License-Identifier: GPL-2.0-or-later
/* The Dump method: its parameters, its answers, and a client that does not wait for them. */
#include "rig.h"

#include <unistd.h>

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
	rig_start(&rig, "busy", ",\"flight_recorder\":1048576");
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
	{ CALL("Dump", "{\"name\":\"flight\",\"output\":\"/refused\"}"), IOTR_OUTPUT_UNUSABLE, "path",
	  "/refused" },
	{ CALL("Dump", "{\"name\":\"flight\",\"output\":\"/full\"}"), IOTR_FAILED, "message",
	  "cannot write in /full: the disk is full" },
	{ CALL("Dump", "{\"name\":\"busy\"}"), IOTR_FAILED, "message",
	  "a dump of session busy is being written: try again when it is done" },
	{ CALL("Rotate", "{\"name\":\"flight\"}"), IOTR_FAILED, "message",
	  "session flight is a flight recorder: its rows are in memory, and Dump writes them" },
	{ CALL("Rotate", "{}"), "", NULL, NULL },
};

START_TEST(answers)
{
	rig_judge(&rig, &calls[_i]);
}
END_TEST

START_TEST(dumps)
{
	_cleanup_close_ int fd = rig_connect(&rig);
	_cleanup_json_ struct json_object *reply = NULL;
	struct json_object *output;

	reply = rig_call(&rig, fd, CALL("Dump", "{\"name\":\"flight\",\"last_ns\":5}"));
	ck_assert_str_eq(rig_error(reply), "");
	ck_assert_int_eq(json_pointer_get(reply, "/parameters/dump/output", &output), 0);
	ck_assert_str_eq(json_object_get_string(output), "/var/log/dump");
}
END_TEST

/* The call goes, the dump does not; the next client is answered. */
START_TEST(survives_its_caller)
{
	static const char text[] = CALL("Dump", "{\"name\":\"flight\"}");
	int fd = rig_connect(&rig);

	ck_assert(rig_send(&rig, fd, text, sizeof(text)));
	close(fd);
	rig_settle(&rig);
	rig_expect(&rig, text, "", NULL, NULL);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_loop_test(tests, answers, 0, sizeof(calls) / sizeof(calls[0]));
	tcase_add_test(tests, dumps);
	tcase_add_test(tests, survives_its_caller);
}

int main(void)
{
	return run_suite("dump", add);
}
