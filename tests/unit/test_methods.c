// SPDX-License-Identifier: GPL-2.0-or-later
#include "control/methods.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "cleanup.h"
#include "protocol.h"
#include "rig.h"
#include "session_spec.h"
#include "suite.h"

static struct rig rig;
static int reloads, reload_result;

static int on_reload(void *userdata, struct json_object *errors, struct json_object *warnings)
{
	(void)userdata, (void)warnings;
	reloads++;
	if (reload_result == -EINVAL)
		json_object_array_add(errors, json_object_new_string("conf:2: no"));
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

START_TEST(starts_and_stops)
{
	rig_start(&rig, "one", "");
	ck_assert_ptr_nonnull(fake_engine_spec(rig.engine, "one"));
	ck_assert_uint_eq(rig_count_sessions(&rig), 1);
	expect("{\"method\":\"io.iotracer.Start\",\"parameters\":"
	       "{\"streams\":[\"vfs\"],\"name\":\"one\"}}",
	       IOTR_SESSION_EXISTS, "name", "one");
	expect("{\"method\":\"io.iotracer.Stop\",\"parameters\":{\"name\":\"one\"}}", "", NULL,
	       NULL);
	expect("{\"method\":\"io.iotracer.Stop\",\"parameters\":{\"name\":\"one\"}}",
	       IOTR_NO_SUCH_SESSION, "name", "one");
	ck_assert_uint_eq(rig_count_sessions(&rig), 0);
}
END_TEST

START_TEST(stops_all)
{
	rig_start(&rig, "one", "");
	rig_start(&rig, "two", "");
	expect("{\"method\":\"io.iotracer.Stop\",\"parameters\":{\"all\":true}}", "", NULL, NULL);
	ck_assert_uint_eq(rig_count_sessions(&rig), 0);
	expect("{\"method\":\"io.iotracer.Stop\",\"parameters\":{\"all\":true}}", "", "sessions",
	       "[ ]");
}
END_TEST

START_TEST(bounds_sessions)
{
	char name[16];

	for (int i = 0; i < IOTR_SESSIONS_MAX; i++) {
		snprintf(name, sizeof(name), "s%d", i);
		rig_start(&rig, name, "");
	}
	expect("{\"method\":\"io.iotracer.Start\",\"parameters\":{\"streams\":[\"vfs\"]}}",
	       IOTR_TOO_MANY_SESSIONS, "limit", "64");
	ck_assert_uint_eq(rig_count_sessions(&rig), IOTR_SESSIONS_MAX);
}
END_TEST

#define CALL(method, parameters)                                                                   \
	"{\"method\":\"io.iotracer." method "\",\"parameters\":" parameters "}"

static const struct rig_case calls[] = {
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
	rig_judge(&rig, &calls[_i]);
}
END_TEST

START_TEST(rotates)
{
	rig_start(&rig, "one", "");
	rig_start(&rig, "two", "");
	expect(CALL("Rotate", "{\"name\":\"one\"}"), "", "closed",
	       "[ \"\\/var\\/log\\/iotracer\\/one\\/20240506T070809Z\\/fs\\/fs_000001.csv\" ]");
	expect(CALL("Rotate", "{}"), "", NULL, NULL);
}
END_TEST

#define SLOW(method) "{\"method\":\"io.iotracer." method "\",\"parameters\":{\"name\":\"slow\"}}"

/* While one waits for its session's end, others are served. */
START_TEST(serves_others_while_one_waits)
{
	_cleanup_close_ int waiting = rig_connect(&rig);
	_cleanup_json_ struct json_object *rotated = NULL, *stopped = NULL;
	char byte;

	rig_start(&rig, "slow", "");
	rig_send(&rig, waiting, SLOW("Rotate"), sizeof(SLOW("Rotate")));
	expect(CALL("Status", "{}"), "", "version", IOTRACER_VERSION);
	ck_assert_int_eq(recv(waiting, &byte, 1, 0), -1);
	rotated = rig_receive(&rig, waiting);
	ck_assert_str_eq(rig_error(rotated), "");
	rig_send(&rig, waiting, SLOW("Stop"), sizeof(SLOW("Stop")));
	expect(CALL("Status", "{}"), "", "version", IOTRACER_VERSION);
	ck_assert_int_eq(recv(waiting, &byte, 1, 0), -1);
	stopped = rig_receive(&rig, waiting);
	ck_assert_str_eq(rig_error(stopped), "");
	ck_assert_ptr_nonnull(strstr(json_object_to_json_string(stopped), "\"ended\""));
}
END_TEST

#define START_SLOW(name)                                                                           \
	CALL("Start", "{\"streams\":[\"vfs\"],\"name\":\"" name "\",\"commands\":[\"slow\"]}")

static int send_start(const char *text)
{
	int fd = rig_connect(&rig);

	ck_assert(rig_send(&rig, fd, text, strlen(text) + 1));
	rig_settle(&rig);
	return fd;
}

static bool list_tells(const char *text)
{
	_cleanup_close_ int fd = rig_connect(&rig);
	_cleanup_json_ struct json_object *reply = rig_call(&rig, fd, CALL("List", "{}"));

	return strstr(json_object_to_json_string(reply), text);
}

/* It is there, and its name is taken, while it starts. */
START_TEST(serves_others_while_one_starts)
{
	_cleanup_close_ int waiting = send_start(START_SLOW("one"));
	_cleanup_json_ struct json_object *reply = NULL;
	char byte;

	ck_assert(list_tells("\"state\": \"starting\""));
	expect(START_SLOW("one"), IOTR_SESSION_EXISTS, "name", "one");
	rig_start(&rig, "two", "");
	ck_assert_int_eq(recv(waiting, &byte, 1, 0), -1);
	reply = rig_receive(&rig, waiting);
	ck_assert_str_eq(rig_error(reply), "");
	ck_assert_ptr_nonnull(strstr(rig_parameter(reply, "session"), "\"one\""));
	ck_assert(!list_tells("\"starting\""));
}
END_TEST

START_TEST(tells_late_errors)
{
	expect(CALL("Start", "{\"streams\":[\"vfs\"],\"commands\":[\"slow\"],\"output\":\"/refused\"}"),
	       IOTR_OUTPUT_UNUSABLE, "path", "/refused");
	ck_assert_uint_eq(rig_count_sessions(&rig), 0);
}
END_TEST

START_TEST(stops_what_starts)
{
	_cleanup_close_ int waiting = send_start(START_SLOW("one"));
	_cleanup_json_ struct json_object *reply = NULL;

	expect(CALL("Stop", "{\"name\":\"one\"}"), "", NULL, NULL);
	reply = rig_receive(&rig, waiting);
	ck_assert_str_eq(rig_error(reply), IOTR_FAILED);
	ck_assert_ptr_nonnull(strstr(rig_parameter(reply, "message"), "stopped"));
}
END_TEST

/* Nobody would know of it. Who wants no reply does not wait for it. */
START_TEST(ends_what_nobody_waits_for)
{
	int waiting = send_start(START_SLOW("one"));
	int oneway = send_start("{\"method\":\"io.iotracer.Start\",\"oneway\":true,\"parameters\":"
				"{\"streams\":[\"vfs\"],\"name\":\"two\",\"commands\":[\"slow\"]}}");

	ck_assert_uint_eq(rig_count_sessions(&rig), 2);
	close(waiting);
	close(oneway);
	rig_settle(&rig);
	ck_assert_ptr_null(fake_engine_spec(rig.engine, "one"));
	for (int i = 0; i < 60; i++)
		sd_event_run(rig.control.event, 10000);
	ck_assert(list_tells("\"running\""));
	ck_assert_uint_eq(rig_count_sessions(&rig), 1);
}
END_TEST

/* Who waits is told so. */
START_TEST(ends_what_starts_at_its_end)
{
	_cleanup_close_ int waiting = send_start(START_SLOW("one"));
	_cleanup_json_ struct json_object *reply = NULL;

	rig_end_server(&rig);
	reply = rig_receive(&rig, waiting);
	ck_assert_str_eq(rig_error(reply), IOTR_FAILED);
}
END_TEST

/* Nobody is there any more when the answer comes. */
START_TEST(outlives_who_asked)
{
	int waiting = rig_connect(&rig);

	rig_start(&rig, "slow", "");
	rig_start(&rig, "slow2", "");
	rig_send(&rig, waiting, CALL("Stop", "{\"all\":true}"),
		 sizeof(CALL("Stop", "{\"all\":true}")));
	rig_settle(&rig);
	close(waiting);
	for (int i = 0; i < 60; i++)
		sd_event_run(rig.control.event, 10000);
	ck_assert_uint_eq(rig_count_sessions(&rig), 0);
	expect(CALL("Status", "{}"), "", "version", IOTRACER_VERSION);
}
END_TEST

START_TEST(reloads_and_says_so)
{
	expect(CALL("Reload", "{}"), "", NULL, NULL);
	reload_result = -EIO;
	expect(CALL("Reload", "{}"), IOTR_FAILED, NULL, NULL);
	reload_result = -EINVAL;
	expect(CALL("Reload", "{}"), IOTR_BAD_CONFIGURATION, NULL, NULL);
	ck_assert_int_eq(reloads, 3);
}
END_TEST

START_TEST(hands_the_definition_on)
{
	const struct iotr_session_spec *spec;

	expect(CALL("Start", "{\"streams\":[\"vfs\"],\"pids\":[7,1],\"min_size\":4096}"), "", NULL,
	       NULL);
	spec = fake_engine_spec(rig.engine, "default");
	ck_assert_ptr_nonnull(spec);
	ck_assert_uint_eq(spec->pid_count, 2);
	ck_assert_uint_eq(spec->pids[1], 1);
	ck_assert_uint_eq(spec->min_size, 4096);
}
END_TEST

START_TEST(sets_filters)
{
	const struct iotr_session_spec *spec;

	expect(CALL("Start", "{\"streams\":[\"vfs\"],\"pids\":[7,1],\"tree\":true,\"commands\":[\"a\"],"
			     "\"min_size\":4096}"), "", NULL, NULL);
	expect(CALL("Set", "{\"name\":\"default\",\"pids\":[1],\"sample\":{\"vfs\":5},"
			   "\"clear\":[\"min_size\",\"tree\"],\"operations\":[\"READ\"],\"errors\":null}"),
	       "", NULL, NULL);
	spec = fake_engine_spec(rig.engine, "default");
	ck_assert_uint_eq(spec->pid_count, 1);
	ck_assert_uint_eq(spec->pids[0], 1);
	ck_assert_uint_eq(spec->command_count, 1);
	ck_assert_uint_eq(spec->sample[IOTR_VFS], 5);
	ck_assert(!spec->tree && !spec->min_size && !spec->errors);
	ck_assert(iotr_operations_have(&spec->operations[IOTR_VFS], IOTR_VFS_READ));
	ck_assert(!iotr_operations_any(&spec->operations[IOTR_BLOCK]));
}
END_TEST

/* Each with the error, and the parameter at fault where there is one. */
static const struct {
	const char *parameters, *error, *name, *value;
} bad_sets[] = {
	{ "{\"name\":\"nobody\",\"errors\":true}", IOTR_NO_SUCH_SESSION, "name", "nobody" },
	{ "{\"errors\":true}", VARLINK_INVALID_PARAMETER, "parameter", "name" },
	{ "{\"name\":\"a/b\",\"errors\":true}", VARLINK_INVALID_PARAMETER, "parameter", "name" },
	{ "{\"name\":7,\"errors\":true}", VARLINK_INVALID_PARAMETER, "parameter", "name" },
	{ "{\"name\":\"fixed\"}", VARLINK_INVALID_PARAMETER, "parameter", "clear" },
	{ "{\"name\":\"fixed\",\"pids\":null}", VARLINK_INVALID_PARAMETER, "parameter", "clear" },
	{ "{\"name\":\"fixed\",\"clear\":[]}", VARLINK_INVALID_PARAMETER, "parameter", "clear" },
	{ "{\"name\":\"fixed\",\"clear\":[\"output\"]}", VARLINK_INVALID_PARAMETER, "parameter", "clear" },
	{ "{\"name\":\"fixed\",\"clear\":[\"pid\"]}", VARLINK_INVALID_PARAMETER, "parameter", "clear" },
	{ "{\"name\":\"fixed\",\"streams\":[\"vfs\"]}", VARLINK_INVALID_PARAMETER, "parameter", "streams" },
	{ "{\"name\":\"fixed\",\"operations\":[\"DISCARD\"]}", VARLINK_INVALID_PARAMETER, "parameter",
	  "operations" },
	{ "{\"name\":\"fixed\",\"paths\":[\"here\"]}", VARLINK_INVALID_PARAMETER, "parameter", "paths" },
	{ "{\"name\":\"fixed\",\"errors\":true}", IOTR_FAILED, NULL, NULL },
};

START_TEST(refuses_sets)
{
	char text[512];

	rig_start(&rig, "fixed", "");
	snprintf(text, sizeof(text), "{\"method\":\"io.iotracer.Set\",\"parameters\":%s}",
		 bad_sets[_i].parameters);
	expect(text, bad_sets[_i].error, bad_sets[_i].name, bad_sets[_i].value);
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
	rig_start(&rig, "one", "");
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
	tcase_add_test(tests, serves_others_while_one_waits);
	tcase_add_test(tests, outlives_who_asked);
	tcase_add_test(tests, serves_others_while_one_starts);
	tcase_add_test(tests, tells_late_errors);
	tcase_add_test(tests, stops_what_starts);
	tcase_add_test(tests, ends_what_nobody_waits_for);
	tcase_add_test(tests, ends_what_starts_at_its_end);
	tcase_add_test(tests, reloads_and_says_so);
	tcase_add_test(tests, hands_the_definition_on);
	tcase_add_test(tests, sets_filters);
	tcase_add_loop_test(tests, refuses_sets, 0, sizeof(bad_sets) / sizeof(bad_sets[0]));
}

int main(void)
{
	return run_suite("methods", add);
}
