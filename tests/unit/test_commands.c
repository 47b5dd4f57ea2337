// SPDX-License-Identifier: GPL-2.0-or-later
#include "control/commands.h"

#include <errno.h>
#include <string.h>

#include "cleanup.h"
#include "protocol.h"
#include "rig.h"
#include "session.h"
#include "suite.h"

static struct rig rig;
static int reloads, reload_result;

static int on_reload(void *userdata)
{
	(void)userdata;
	reloads++;
	return reload_result;
}

static void set_up(void)
{
	rig_init(&rig);
	rig.control.reload = on_reload;
}

static void tear_down(void)
{
	rig_done(&rig);
}

static void expect(const char *text, const char *error, const char *name, const char *value)
{
	rig_expect(&rig, text, error, name, value);
}

static void start(const char *name)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "{\"method\":\"io.iotracer.Start\",\"parameters\":"
		 "{\"streams\":[\"vfs\"],\"name\":\"%s\"}}",
		 name);
	expect(text, "", NULL, NULL);
}

static size_t count_sessions(void)
{
	_cleanup_close_ int fd = rig_connect(&rig);
	_cleanup_json_ struct json_object *reply =
		rig_call(&rig, fd, "{\"method\":\"io.iotracer.List\"}");
	_cleanup_json_ struct json_object *sessions =
		json_tokener_parse(rig_parameter(reply, "sessions"));

	return json_object_array_length(sessions);
}

START_TEST(starts_and_stops)
{
	start("one");
	ck_assert_ptr_nonnull(fake_engine_spec(rig.engine, "one"));
	ck_assert_uint_eq(count_sessions(), 1);
	expect("{\"method\":\"io.iotracer.Start\",\"parameters\":"
	       "{\"streams\":[\"vfs\"],\"name\":\"one\"}}",
	       IOTR_SESSION_EXISTS, "name", "one");
	expect("{\"method\":\"io.iotracer.Stop\",\"parameters\":{\"name\":\"one\"}}", "", NULL,
	       NULL);
	expect("{\"method\":\"io.iotracer.Stop\",\"parameters\":{\"name\":\"one\"}}",
	       IOTR_NO_SUCH_SESSION, "name", "one");
	ck_assert_uint_eq(count_sessions(), 0);
}
END_TEST

START_TEST(stops_all)
{
	start("one");
	start("two");
	expect("{\"method\":\"io.iotracer.Stop\",\"parameters\":{\"all\":true}}", "", NULL, NULL);
	ck_assert_uint_eq(count_sessions(), 0);
	expect("{\"method\":\"io.iotracer.Stop\",\"parameters\":{\"all\":true}}", "", "sessions",
	       "[ ]");
}
END_TEST

START_TEST(bounds_sessions)
{
	char name[16];

	for (int i = 0; i < IOTR_SESSIONS_MAX; i++) {
		snprintf(name, sizeof(name), "s%d", i);
		start(name);
	}
	expect("{\"method\":\"io.iotracer.Start\",\"parameters\":{\"streams\":[\"vfs\"]}}",
	       IOTR_TOO_MANY_SESSIONS, "limit", "64");
	ck_assert_uint_eq(count_sessions(), IOTR_SESSIONS_MAX);
}
END_TEST

#define CALL(method, parameters)                                                                   \
	"{\"method\":\"io.iotracer." method "\",\"parameters\":" parameters "}"

static const struct {
	const char *text;
	const char *error;
	const char *name;
	const char *value;
} calls[] = {
	{ CALL("Start", "{\"streams\":[\"vfs\"],\"name\":\"nohook\"}"), IOTR_NO_HOOK, "reason",
	  "no stream has a hook" },
	{ CALL("Start", "{\"streams\":[\"vfs\"],\"output\":\"/refused\"}"), IOTR_OUTPUT_UNUSABLE,
	  "path", "/refused" },
	{ CALL("Start", "{\"streams\":[\"nope\"]}"), VARLINK_INVALID_PARAMETER, "parameter",
	  "streams" },
	{ CALL("Start", "{}"), VARLINK_INVALID_PARAMETER, "parameter", "streams" },
	{ CALL("Stop", "{}"), VARLINK_INVALID_PARAMETER, "parameter", "name" },
	{ CALL("Stop", "{\"all\":false}"), VARLINK_INVALID_PARAMETER, "parameter", "name" },
	{ CALL("Stop", "{\"all\":1}"), VARLINK_INVALID_PARAMETER, "parameter", "all" },
	{ CALL("Stop", "{\"all\":true,\"name\":\"a\"}"), VARLINK_INVALID_PARAMETER, "parameter",
	  "name" },
	{ CALL("Stop", "{\"name\":\"../etc\"}"), VARLINK_INVALID_PARAMETER, "parameter", "name" },
	{ CALL("List", "{\"name\":\"a\"}"), VARLINK_INVALID_PARAMETER, "parameter", "name" },
	{ CALL("Status", "{}"), "", "version", IOTRACER_VERSION },
	{ CALL("Status", "{\"name\":\"a\"}"), IOTR_NO_SUCH_SESSION, "name", "a" },
	{ CALL("Status", "{\"name\":[]}"), VARLINK_INVALID_PARAMETER, "parameter", "name" },
	{ CALL("Rotate", "{}"), "", "closed", "[ ]" },
	{ CALL("Rotate", "{\"name\":\"a\"}"), IOTR_NO_SUCH_SESSION, "name", "a" },
	{ CALL("Streams", "{\"x\":1}"), VARLINK_INVALID_PARAMETER, "parameter", "x" },
	{ CALL("Streams", "{}"), "", NULL, NULL },
	{ CALL("Doctor", "{}"), "", NULL, NULL },
	{ CALL("Reload", "{\"x\":1}"), VARLINK_INVALID_PARAMETER, "parameter", "x" },
};

START_TEST(answers)
{
	expect(calls[_i].text, calls[_i].error, calls[_i].name, calls[_i].value);
}
END_TEST

START_TEST(rotates)
{
	start("one");
	start("two");
	expect(CALL("Rotate", "{\"name\":\"one\"}"), "", "closed",
	       "[ \"\\/var\\/log\\/iotracer\\/one\\/20240506T070809Z\\/fs\\/fs_000001.csv\" ]");
	expect(CALL("Rotate", "{}"), "", NULL, NULL);
}
END_TEST

START_TEST(reloads_and_says_so)
{
	expect(CALL("Reload", "{}"), "", NULL, NULL);
	reload_result = -EIO;
	expect(CALL("Reload", "{}"), IOTR_FAILED, NULL, NULL);
	ck_assert_int_eq(reloads, 2);
}
END_TEST

START_TEST(hands_the_definition_on)
{
	const struct iotr_session_spec *spec;

	expect(CALL("Start", "{\"streams\":[\"vfs\"],\"pids\":[7,8],\"min_size\":4096}"), "", NULL,
	       NULL);
	spec = fake_engine_spec(rig.engine, "default");
	ck_assert_ptr_nonnull(spec);
	ck_assert_uint_eq(spec->pid_count, 2);
	ck_assert_uint_eq(spec->pids[1], 8);
	ck_assert_uint_eq(spec->min_size, 4096);
}
END_TEST

/* Progress for who wants it, then what was taken. */
START_TEST(takes_snapshots)
{
	_cleanup_close_ int fd = rig_connect(&rig);
	_cleanup_json_ struct json_object *progress = NULL, *done = NULL;

	progress = rig_call(&rig, fd,
			    "{\"method\":\"io.iotracer.Snapshot\",\"more\":true,\"parameters\":"
			    "{\"kind\":\"filesystem\",\"root\":\"/srv\",\"depth\":5,\"output\":\"/out\"}}");
	ck_assert_str_eq(rig_parameter(progress, "progress"),
			 "{ \"kind\": \"filesystem\", \"rows\": 7 }");
	done = rig_receive(&rig, fd);
	ck_assert_str_eq(rig_parameter(done, "output"), "/out");
	ck_assert_ptr_nonnull(strstr(rig_parameter(done, "snapshots"), "\"rows\": 5"));
}
END_TEST

#define SNAPSHOT(parameters) "{\"method\":\"io.iotracer.Snapshot\",\"parameters\":{" parameters "}}"

START_TEST(refuses_snapshots)
{
	static const struct {
		const char *text, *parameter;
	} refused[] = {
		{ SNAPSHOT("\"kind\":\"disk\""), "kind" },
		{ SNAPSHOT("\"kind\":7"), "kind" },
		{ SNAPSHOT("\"name\":\"a/b\""), "name" },
		{ SNAPSHOT("\"root\":\"srv\""), "root" },
		{ SNAPSHOT("\"depth\":-1"), "depth" },
		{ SNAPSHOT("\"depth\":65536"), "depth" },
		{ SNAPSHOT("\"output\":\"out\""), "output" },
		{ SNAPSHOT("\"name\":\"one\",\"output\":\"/out\""), "output" },
		{ SNAPSHOT("\"nonsense\":1"), "nonsense" },
	};

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		expect(refused[i].text, VARLINK_INVALID_PARAMETER, "parameter", refused[i].parameter);
	expect(SNAPSHOT("\"name\":\"nobody\""), IOTR_NO_SUCH_SESSION, "name", "nobody");
	expect(SNAPSHOT("\"output\":\"/full\""), IOTR_OUTPUT_UNUSABLE, "path", "/full");
	expect(SNAPSHOT("\"root\":\"/absent\""), IOTR_FAILED, "message",
	       "no snapshot was taken: /absent: No such file or directory");
}
END_TEST

/* Whoever goes before it is taken has cancelled it. */
START_TEST(forgets_snapshots)
{
	static const char text[] = SNAPSHOT("");
	int fd = rig_connect(&rig);

	ck_assert(rig_send(&rig, fd, text, sizeof(text)));
	close(fd);
	rig_settle(&rig);
	start("one");
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, takes_snapshots);
	tcase_add_test(tests, refuses_snapshots);
	tcase_add_test(tests, forgets_snapshots);
	tcase_add_test(tests, starts_and_stops);
	tcase_add_test(tests, stops_all);
	tcase_add_test(tests, bounds_sessions);
	tcase_add_loop_test(tests, answers, 0, sizeof(calls) / sizeof(calls[0]));
	tcase_add_test(tests, rotates);
	tcase_add_test(tests, reloads_and_says_so);
	tcase_add_test(tests, hands_the_definition_on);
}

int main(void)
{
	return run_suite("commands", add);
}
