// SPDX-License-Identifier: GPL-2.0-or-later
#include "control/methods.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <string.h>
#include <sys/socket.h>

#include "cleanup.h"
#include "fake_snapshots.h"
#include "protocol.h"
#include "rig.h"
#include "selftest/selftest.h"
#include "session_spec.h"
#include "snapshot/snapshot.h"
#include "stand_outside.h"
#include "suite.h"

static struct rig rig;
enum { SESSION_WRONG = 1 }; /* as what on_reload() returns: it is in the file of a session */

static int reloads, reload_result;

static int on_reload(void *userdata, struct json_object *errors, struct json_object *warnings)
{
	(void)userdata, (void)warnings;
	reloads++;
	if (reload_result == -EINVAL || reload_result == SESSION_WRONG)
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

#define CALL(method, parameters)                                                                   \
	"{\"method\":\"io.iotracer." method "\",\"parameters\":" parameters "}"

static bool list_tells(const char *text)
{
	_cleanup_close_ int fd = rig_connect(&rig);
	_cleanup_json_ struct json_object *reply = rig_call(&rig, fd, CALL("List", "{}"));

	return strstr(json_object_to_json_string(reply), text);
}

START_TEST(starts_and_stops)
{
	rig_start(&rig, "one", "");
	ck_assert(list_tells("\"name\": \"one\""));
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

static void start_all(void)
{
	char name[16];

	for (int i = 0; i < IOTR_SESSIONS_MAX; i++) {
		snprintf(name, sizeof(name), "s%d", i);
		rig_start(&rig, name, "");
	}
}

START_TEST(bounds_sessions)
{
	start_all();
	expect("{\"method\":\"io.iotracer.Start\",\"parameters\":{\"streams\":[\"vfs\"]}}",
	       IOTR_TOO_MANY_SESSIONS, "limit", "64");
	ck_assert_uint_eq(rig_count_sessions(&rig), IOTR_SESSIONS_MAX);
}
END_TEST

static const struct rig_case calls[] = {
	{ CALL("Start", "{\"streams\":[\"vfs\"],\"output\":\"/proc\"}"), IOTR_OUTPUT_UNUSABLE,
	  "path", "/proc" },
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
	{ CALL("Reload", "{\"x\":1}"), VARLINK_INVALID_PARAMETER, "parameter", "x" },
};

START_TEST(answers)
{
	rig_judge(&rig, &calls[_i]);
}
END_TEST

START_TEST(needs_a_hook)
{
	memset(fake_probes.hookless, 0xff, sizeof(fake_probes.hookless));
	expect(CALL("Start", "{\"streams\":[\"vfs\"]}"), IOTR_NO_HOOK, "reason",
	       "the kernel refuses the hooks of these streams");
}
END_TEST

/* The entry of that name in what Doctor answers, which `reply` keeps. */
static struct json_object *find_check(const char *name, struct json_object **reply)
{
	_cleanup_close_ int fd = rig_connect(&rig);
	struct json_object *checks;

	*reply = rig_call(&rig, fd, CALL("Doctor", "{}"));
	ck_assert_int_eq(json_pointer_get(*reply, "/parameters/checks", &checks), 0);
	for (size_t i = 0; i < json_object_array_length(checks); i++) {
		struct json_object *check = json_object_array_get_idx(checks, i);

		if (!strcmp(rig_text_at(check, "/check"), name))
			return check;
	}
	ck_abort_msg("no check %s", name);
}

/* No row comes of the operations that a self-test does. */
static void expect_silence(void)
{
	_cleanup_json_ struct json_object *reply = NULL, *check = json_object_get(find_check("vfs.READ", &reply));

	ck_assert_str_eq(rig_text_at(check, "/detail"), "fake");
	ck_assert_str_eq(rig_text_at(check, "/test"), "none");
	ck_assert_str_eq(rig_text_at(check, "/ok"), "false");
}

START_TEST(tries_the_hooks)
{
	expect_silence();
}
END_TEST

static int test_itself(void)
{
	return selftest_main(NULL);
}

START_TEST(has_them_tried_outside)
{
	pid_t outside = stand_outside(rig.folder.path, SELFTEST_SOCKET, test_itself);

	expect_silence();
	ck_assert_int_eq(stood_outside(outside), 0);
}
END_TEST

static int break_down(void)
{
	return 1;
}

/* It is not tried here then, as the daemon's confinement may refuse what would be taken for hooks without rows. */
START_TEST(tells_why_they_are_not_tried)
{
	pid_t outside = stand_outside(rig.folder.path, SELFTEST_SOCKET, break_down);
	_cleanup_json_ struct json_object *reply = NULL, *check = json_object_get(find_check("self-test", &reply));
	_cleanup_json_ struct json_object *again = NULL;

	ck_assert_str_eq(rig_text_at(check, "/ok"), "false");
	ck_assert_str_eq(rig_text_at(check, "/detail"), "iotracer-self-test@.service, which its process is of, has failed");
	stood_outside(outside);
	ck_assert_str_eq(rig_text_at(find_check("self-test", &again), "/ok"), "true"); /* nobody listens there any more */
}
END_TEST

/* Whether the path is that of a file of the session. */
static bool is_of(struct json_object *path, struct json_object *status)
{
	const char *text = json_object_get_string(path), *folder = rig_text_at(status, "/streams/vfs/path");

	return !strncmp(text, folder, strlen(folder)) && !access(text, F_OK);
}

/* One of the paths is of that session. */
static void expect_closed(const char *text, const char *session, size_t count)
{
	_cleanup_json_ struct json_object *status = rig_status(&rig, session), *reply = NULL;
	_cleanup_close_ int fd = rig_connect(&rig);
	struct json_object *closed;
	size_t found = 0;

	fake_ring_fill(3);
	reply = rig_call(&rig, fd, text);
	ck_assert_int_eq(json_pointer_get(reply, "/parameters/closed", &closed), 0);
	ck_assert_uint_eq(json_object_array_length(closed), count);
	for (size_t i = 0; i < count; i++)
		found += is_of(json_object_array_get_idx(closed, i), status);
	ck_assert_uint_eq(found, 1);
}

START_TEST(rotates)
{
	rig_start(&rig, "one", ",\"compress\":\"none\"");
	rig_start(&rig, "two", ",\"compress\":\"none\"");
	expect_closed(CALL("Rotate", "{\"name\":\"two\"}"), "two", 1);
	expect_closed(CALL("Rotate", "{}"), "one", 2);
	expect_closed(CALL("Rotate", "{}"), "two", 2);
}
END_TEST

/* One session that fails is named, and takes nothing from what is told of the others. */
START_TEST(rotates_what_can_be)
{
	_cleanup_json_ struct json_object *status = NULL, *reply = NULL;
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX];

	rig_start(&rig, "one", ",\"compress\":\"none\"");
	rig_start(&rig, "torn", ",\"compress\":\"none\"");
	status = rig_status(&rig, "torn");
	snprintf(path, sizeof(path), "%s/fs_000001.csv.part", rig_text_at(status, "/streams/vfs/path"));
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(rmdir(dirname(path)), 0);
	expect_closed(CALL("Rotate", "{}"), "one", 1); /* what it has written was lost, and is no obstacle */
	fd = rig_connect(&rig);
	fake_ring_fill(3);
	reply = rig_call(&rig, fd, CALL("Rotate", "{}"));
	ck_assert_ptr_nonnull(strstr(rig_text_at(reply, "/parameters/closed/0"), "/one/"));
	ck_assert_str_eq(rig_text_at(reply, "/parameters/failed/0/name"), "torn");
	ck_assert_str_eq(rig_text_at(reply, "/parameters/failed/0/reason"), strerror(ENOENT));
}
END_TEST

#define SLOW(method) "{\"method\":\"io.iotracer." method "\",\"parameters\":{\"name\":\"slow\"}}"

/* The call waits for the disk; others are served meanwhile. */
static struct json_object *call_slow(const char *text)
{
	_cleanup_close_ int waiting = rig_connect(&rig);
	char byte;

	fake_disk_hold();
	rig_send(&rig, waiting, text, strlen(text) + 1);
	expect(CALL("Status", "{}"), "", "version", IOTRACER_VERSION);
	rig_settle(&rig);
	ck_assert_int_eq(recv(waiting, &byte, 1, 0), -1);
	fake_disk_let_go();
	return rig_receive(&rig, waiting);
}

/* While a client waits for the end of its session, others are served. */
START_TEST(serves_others_while_one_waits)
{
	_cleanup_json_ struct json_object *rotated = NULL, *stopped = NULL;

	rig_start(&rig, "slow", "");
	rotated = call_slow(SLOW("Rotate"));
	ck_assert_str_eq(rig_error(rotated), "");
	stopped = call_slow(SLOW("Stop"));
	ck_assert_str_eq(rig_error(stopped), "");
	ck_assert_ptr_nonnull(strstr(json_object_to_json_string(stopped), "\"ended\""));
}
END_TEST

/* Starts while the disk is held. */
#define START_SLOW(name)                                                                           \
	CALL("Start", "{\"streams\":[\"vfs\"],\"name\":\"" name "\",\"paths\":[\"/tmp\"]}")

static int send_call(const char *text)
{
	int fd = rig_connect(&rig);

	ck_assert(rig_send(&rig, fd, text, strlen(text) + 1));
	rig_settle(&rig);
	return fd;
}

static int send_start(const char *text)
{
	fake_disk_hold();
	return send_call(text);
}

/* A session that is starting is listed, and its name is taken. */
START_TEST(serves_others_while_one_starts)
{
	_cleanup_close_ int waiting = send_start(START_SLOW("one"));
	_cleanup_json_ struct json_object *reply = NULL;
	char byte;

	ck_assert(list_tells("\"state\": \"starting\""));
	expect(START_SLOW("one"), IOTR_SESSION_EXISTS, "name", "one");
	rig_start(&rig, "two", ",\"flight_recorder\":1048576");
	ck_assert_int_eq(recv(waiting, &byte, 1, 0), -1);
	fake_disk_let_go();
	reply = rig_receive(&rig, waiting);
	ck_assert_str_eq(rig_error(reply), "");
	ck_assert_ptr_nonnull(strstr(rig_parameter(reply, "session"), "\"one\""));
	ck_assert(!list_tells("\"starting\""));
}
END_TEST

START_TEST(tells_late_errors)
{
	_cleanup_close_ int waiting =
		send_start(CALL("Start", "{\"streams\":[\"vfs\"],\"paths\":[\"/tmp\"],\"output\":\"/proc\"}"));
	_cleanup_json_ struct json_object *reply = NULL;

	ck_assert_uint_eq(rig_count_sessions(&rig), 1);
	fake_disk_let_go();
	reply = rig_receive(&rig, waiting);
	ck_assert_str_eq(rig_error(reply), IOTR_OUTPUT_UNUSABLE);
	ck_assert_str_eq(rig_parameter(reply, "path"), "/proc");
	ck_assert_uint_eq(rig_count_sessions(&rig), 0);
}
END_TEST

START_TEST(stops_what_starts)
{
	_cleanup_close_ int waiting = send_start(START_SLOW("one"));
	_cleanup_close_ int stopping = send_call(CALL("Stop", "{\"name\":\"one\"}"));
	_cleanup_json_ struct json_object *reply = rig_receive(&rig, waiting), *stopped = NULL;

	ck_assert_str_eq(rig_error(reply), IOTR_FAILED);
	ck_assert_ptr_nonnull(strstr(rig_parameter(reply, "message"), "stopped"));
	fake_disk_let_go();
	stopped = rig_receive(&rig, stopping);
	ck_assert_str_eq(rig_error(stopped), "");
	ck_assert_uint_eq(rig_count_sessions(&rig), 0);
}
END_TEST

/* A session whose client disconnects before it runs is ended; after a oneway call it goes on. */
START_TEST(ends_what_nobody_waits_for)
{
	int waiting = send_start(START_SLOW("one"));
	int oneway = send_start("{\"method\":\"io.iotracer.Start\",\"oneway\":true,\"parameters\":"
				"{\"streams\":[\"vfs\"],\"name\":\"two\",\"paths\":[\"/tmp\"]}}");

	ck_assert_uint_eq(rig_count_sessions(&rig), 2);
	close(waiting);
	close(oneway);
	rig_settle(&rig);
	ck_assert(list_tells("\"ending\"") && list_tells("\"starting\""));
	fake_disk_let_go();
	rig_await_sessions(&rig, 1);
	while (!list_tells("\"running\""))
		rig_settle(&rig);
	ck_assert(list_tells("\"name\": \"two\""));
}
END_TEST

/* The clients that wait get an error. */
START_TEST(ends_what_starts_at_its_end)
{
	_cleanup_close_ int waiting = send_start(START_SLOW("one"));
	_cleanup_json_ struct json_object *reply = NULL;

	rig_end_server(&rig);
	reply = rig_receive(&rig, waiting);
	ck_assert_str_eq(rig_error(reply), IOTR_FAILED);
}
END_TEST

/* The client has disconnected when the answer comes. */
START_TEST(outlives_who_asked)
{
	int waiting = rig_connect(&rig);

	rig_start(&rig, "slow", "");
	rig_start(&rig, "slow2", "");
	fake_disk_hold();
	rig_send(&rig, waiting, CALL("Stop", "{\"all\":true}"),
		 sizeof(CALL("Stop", "{\"all\":true}")));
	rig_settle(&rig);
	close(waiting);
	rig_settle(&rig);
	ck_assert_uint_eq(rig_count_sessions(&rig), 2);
	fake_disk_let_go();
	rig_await_sessions(&rig, 0);
	expect(CALL("Status", "{}"), "", "version", IOTRACER_VERSION);
}
END_TEST

START_TEST(reloads_and_says_so)
{
	expect(CALL("Reload", "{}"), "", NULL, NULL);
	reload_result = -EIO;
	expect(CALL("Reload", "{}"), IOTR_FAILED, NULL, NULL);
	reload_result = -EINVAL;
	expect(CALL("Reload", "{}"), IOTR_BAD_CONFIGURATION, "applied", "false");
	reload_result = SESSION_WRONG;
	expect(CALL("Reload", "{}"), IOTR_BAD_CONFIGURATION, "applied", "true");
	ck_assert_int_eq(reloads, 4);
}
END_TEST

static void expect_filters(const char *filters)
{
	_cleanup_json_ struct json_object *status = rig_status(&rig, "default");

	ck_assert_str_eq(rig_text_at(status, "/filters"), filters);
}

START_TEST(hands_the_definition_on)
{
	expect(CALL("Start", "{\"streams\":[\"vfs\"],\"pids\":[7,1],\"min_size\":4096}"), "", NULL,
	       NULL);
	expect_filters("{ \"pids\": [ 7, 1 ], \"min_size\": 4096 }");
}
END_TEST

START_TEST(sets_filters)
{
	expect(CALL("Start", "{\"streams\":[\"vfs\"],\"pids\":[7,1],\"tree\":true,\"commands\":[\"a\"],"
			     "\"min_size\":4096}"), "", NULL, NULL);
	expect(CALL("Set", "{\"name\":\"default\",\"pids\":[1],\"sample\":{\"vfs\":5},"
			   "\"clear\":[\"min_size\",\"tree\"],\"operations\":[\"READ\"],\"errors\":null}"),
	       "", NULL, NULL);
	expect_filters("{ \"pids\": [ 1 ], \"commands\": [ \"a\" ], \"operations\": [ \"vfs.READ\" ], "
		       "\"sample\": { \"vfs\": 5 } }");
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

/* A change takes a slot of its own. */
START_TEST(has_no_room_for_a_set)
{
	start_all();
	expect(CALL("Set", "{\"name\":\"s0\",\"errors\":true}"), IOTR_FAILED, NULL, NULL);
}
END_TEST

/* ---- snapshots ---- */

/* A call with `more` is told of progress, and then of the snapshots. */
START_TEST(takes_snapshots)
{
	_cleanup_json_ struct json_object *reply = NULL;
	_cleanup_close_ int fd = rig_connect(&rig);
	char text[512], output[128], held[128];

	snprintf(output, sizeof(output), "%s/out", rig.folder.path);
	snprintf(held, sizeof(held), "%s/held", rig.folder.path);
	folder_put(&rig.folder, "held", "");
	ck_assert_int_eq(setenv(FAKE_HELD_SNAPSHOTS, held, true), 0);
	folder_put(&rig.folder, "walked/a/b/c/file", "");
	folder_put(&rig.folder, "walked/file", "");
	snprintf(text, sizeof(text),
		 "{\"method\":\"io.iotracer.Snapshot\",\"more\":true,\"parameters\":"
		 "{\"kind\":\"filesystem\",\"root\":\"%s/walked\",\"depth\":2,\"output\":\"%s\"}}",
		 rig.folder.path, output);
	reply = rig_call(&rig, fd, text);
	ck_assert(rig_continues(reply));
	ck_assert_str_eq(rig_parameter(reply, "progress"), "{ \"kind\": \"filesystem\", \"rows\": 0, \"skipped\": 0 }");
	ck_assert_int_eq(unlink(held), 0);
	while (rig_continues(reply)) {
		json_object_put(reply);
		reply = rig_receive(&rig, fd);
	}
	ck_assert_str_eq(rig_parameter(reply, "output"), output);
	ck_assert_str_eq(rig_text_at(reply, "/parameters/snapshots/0/kind"), "filesystem");
	ck_assert_str_eq(rig_text_at(reply, "/parameters/snapshots/0/rows"), "4"); /* walked, file, a and b */
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
	expect(SNAPSHOT("\"output\":\"/proc\""), IOTR_OUTPUT_UNUSABLE, "path", "/proc");
	expect(SNAPSHOT("\"kind\":\"filesystem\",\"root\":\"/absent\""), IOTR_FAILED, "message",
	       "no snapshot was taken: /absent: No such file or directory");
}
END_TEST

/* A client that disconnects cancels its snapshot. */
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
	tcase_add_test(tests, needs_a_hook);
	tcase_add_test(tests, tries_the_hooks);
	tcase_add_test(tests, has_them_tried_outside);
	tcase_add_test(tests, tells_why_they_are_not_tried);
	tcase_add_test(tests, rotates);
	tcase_add_test(tests, rotates_what_can_be);
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
	tcase_add_test(tests, has_no_room_for_a_set);
	tcase_add_loop_test(tests, refuses_sets, 0, sizeof(bad_sets) / sizeof(bad_sets[0]));
}

/* The engine runs this program anew for self-tests and snapshots. */
int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], SELFTEST_OPTION))
		return selftest_main(argv[2]);
	if (argc == 2 && !strcmp(argv[1], SNAPSHOT_HELPER))
		return snapshot_helper();
	return run_suite("methods", add);
}
