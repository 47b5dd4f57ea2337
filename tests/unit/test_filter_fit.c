// SPDX-License-Identifier: GPL-2.0-or-later
#include "spec/filter_fit.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cleanup.h"
#include "spec/start_arguments.h"
#include "suite.h"

static struct iotr_session_spec spec;
static struct engine_error error;
static struct json_object *warnings;

static void set_up(void)
{
	warnings = json_object_new_array();
}

static void tear_down(void)
{
	iotr_session_spec_done(&spec);
	json_object_put(warnings);
	memset(&error, 0, sizeof(error));
}

/* Checks a spec as Start does. */
static int start(const char *text)
{
	_cleanup_json_ struct json_object *parameters = json_tokener_parse(text);
	int r;

	ck_assert_ptr_nonnull(parameters);
	r = start_arguments_read(parameters, &spec, &error);
	return r < 0 ? r : filter_fit_now(&spec, warnings, &error);
}

static const char *warning(size_t number)
{
	return json_object_get_string(json_object_array_get_idx(warnings, number));
}

/* Sessions that no row can pass, and the filter that is to blame. */
static const struct {
	const char *text, *parameter, *word;
} empty[] = {
	{ "{\"streams\":[\"net\"],\"devices\":[\"8:0\"]}", "devices", "rows of net have no device" },
	{ "{\"streams\":[\"epoll\",\"conn\"],\"devices\":[\"8:0\"]}", "devices", "epoll, conn" },
	{ "{\"streams\":[\"cache\"],\"errors\":true}", "errors", "rows of cache have no error" },
	{ "{\"streams\":[\"pagefault\",\"drop\"],\"errors\":true}", "errors", "drop, pagefault" },
	{ "{\"streams\":[\"drop\"],\"pids\":[1],\"tree\":true}", "pids", "rows of drop have no process" },
	{ "{\"streams\":[\"drop\"],\"commands\":[\"a\"]}", "commands", "process" },
	{ "{\"streams\":[\"drop\"],\"units\":[\"a\"]}", "units", "process" },
	{ "{\"streams\":[\"cache\"],\"min_latency_ns\":1}", "min_latency_ns", "no latency" },
	{ "{\"streams\":[\"conn\",\"epoll\",\"sockopt\",\"pagefault\"],\"min_size\":1}", "min_size", "no size" },
	{ "{\"streams\":[\"vfs\",\"net\"],\"paths\":[\"/\"]}", "paths", "rows of net have no file" },
};

START_TEST(refuses_what_stays_empty)
{
	ck_assert_int_lt(start(empty[_i].text), 0);
	ck_assert_str_eq(error.parameter, empty[_i].parameter);
	ck_assert_msg(strstr(error.message, empty[_i].word), "%s", error.message);
}
END_TEST

/* Sessions that can have rows, and the number of warnings. */
static const struct {
	const char *text;
	size_t count;
	const char *word;
} partial[] = {
	{ "{\"streams\":[\"vfs\",\"net\",\"conn\"],\"errors\":true,\"min_latency_ns\":5,\"uids\":[0]}", 0, "" },
	{ "{\"streams\":[\"drop\"],\"uids\":[0],\"min_size\":5}", 0, "" },
	{ "{\"streams\":[\"vfs\",\"cache\"],\"errors\":true}", 1, "rows of cache have no error" },
	{ "{\"streams\":[\"vfs\",\"conn\",\"drop\"],\"pids\":[1],\"min_size\":1}", 2, "rows of drop have no process" },
	{ "{\"streams\":[\"vfs\",\"block\",\"conn\"],\"operations\":[\"FSYNC\",\"CONNECT\"]}", 1, "belongs to block, of which no row" },
	{ "{\"streams\":[\"vfs\"],\"errors\":false,\"min_size\":0}", 0, "" },
};

START_TEST(warns_of_what_has_no_rows)
{
	ck_assert_msg(start(partial[_i].text) >= 0, "%s: %s", error.parameter, error.message);
	ck_assert_uint_eq(json_object_array_length(warnings), partial[_i].count);
	if (partial[_i].count)
		ck_assert_msg(strstr(warning(0), partial[_i].word), "%s", warning(0));
}
END_TEST

static bool sees_all(void)
{
	struct stat own;

	return !stat("/proc/self/ns/pid", &own) && own.st_ino == 4026531836;
}

/* A process that has ended, and was waited for. */
static pid_t gone(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	return pid;
}

START_TEST(knows_processes)
{
	pid_t pid = gone();
	char text[128], word[64];

	if (!sees_all()) /* then it is not known which processes there are */
		return;
	snprintf(text, sizeof(text), "{\"streams\":[\"vfs\"],\"pids\":[%d]}", pid);
	snprintf(word, sizeof(word), "there is no process %d", pid);
	ck_assert_int_lt(start(text), 0);
	ck_assert_str_eq(error.parameter, "pids");
	ck_assert_str_eq(error.message, word);

	tear_down();
	set_up();
	snprintf(text, sizeof(text), "{\"streams\":[\"vfs\"],\"pids\":[%d,%d]}", getpid(), pid);
	ck_assert_int_ge(start(text), 0);
	ck_assert_uint_eq(json_object_array_length(warnings), 1);
	ck_assert_str_eq(warning(0), word);
}
END_TEST

static void *check_thread(void *unused)
{
	int tid = (int)syscall(SYS_gettid);
	char text[128], word[64];

	snprintf(text, sizeof(text), "{\"streams\":[\"vfs\"],\"pids\":[%d]}", tid);
	snprintf(word, sizeof(word), "%d is a thread of process %d", tid, getpid());
	ck_assert_int_lt(start(text), 0);
	ck_assert_str_eq(error.message, word);
	return unused;
}

START_TEST(knows_threads)
{
	pthread_t thread;

	if (!sees_all())
		return;
	ck_assert_int_eq(pthread_create(&thread, NULL, check_thread, NULL), 0);
	pthread_join(thread, NULL);
}
END_TEST

START_TEST(knows_devices)
{
	struct stat root;
	char text[128];

	ck_assert_int_eq(stat("/proc", &root), 0);
	snprintf(text, sizeof(text), "{\"streams\":[\"vfs\"],\"devices\":[\"%u:%u\",\"4000:77\"]}",
		 major(root.st_dev), minor(root.st_dev));
	ck_assert_int_ge(start(text), 0);
	ck_assert_uint_eq(json_object_array_length(warnings), 1);
	ck_assert_str_eq(warning(0), "no disk or file system has the device number 4000:77 now");
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_loop_test(tests, refuses_what_stays_empty, 0, sizeof(empty) / sizeof(empty[0]));
	tcase_add_loop_test(tests, warns_of_what_has_no_rows, 0, sizeof(partial) / sizeof(partial[0]));
	tcase_add_test(tests, knows_processes);
	tcase_add_test(tests, knows_threads);
	tcase_add_test(tests, knows_devices);
}

int main(void)
{
	return run_suite("filter_fit", add);
}
