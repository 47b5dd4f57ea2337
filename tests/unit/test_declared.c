// SPDX-License-Identifier: GPL-2.0-or-later
/* Sessions that files declare: what a file may say, what may lie in the folder, and what becomes of what runs. */
#include "declared.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "pipeline/clocks.h"
#include "rig.h"
#include "config/session_file.h"
#include "suite.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static struct rig rig;
static struct declared *declared;
static char folder[PATH_MAX], told[16][PATH_MAX];
static size_t told_count;

static void on_wrong(enum config_finding finding, const char *sentence, void *userdata)
{
	(void)userdata;
	ck_assert_int_eq(finding, CONFIG_WRONG);
	ck_assert_uint_lt(told_count, LENGTH(told));
	snprintf(told[told_count++], sizeof(told[0]), "%s", sentence);
}

/* What was said of the file: what follows its path. */
static const char *said(size_t i)
{
	ck_assert_uint_lt(i, told_count);
	ck_assert_msg(!strncmp(told[i], folder, strlen(folder)), "%s", told[i]);
	return told[i] + strlen(folder) + 1;
}

static const char *path_of(const char *file)
{
	static char path[PATH_MAX + 128];

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	return path;
}

static void write_file(const char *file, const char *text)
{
	FILE *stream = fopen(path_of(file), "w");

	ck_assert_ptr_nonnull(stream);
	fputs(text, stream);
	fclose(stream);
	chmod(path_of(file), 0644);
}

static void make_folder(const char *parent)
{
	char config[256];

	snprintf(config, sizeof(config), "%s/iotracerd.conf", parent);
	session_files_folder(config, folder);
	ck_assert_int_eq(mkdir(folder, 0755), 0);
}

static void begin(void)
{
	char config[256];

	rig_init(&rig);
	make_folder(rig.folder.path);
	snprintf(config, sizeof(config), "%s/iotracerd.conf", rig.folder.path);
	ck_assert_int_eq(declared_new(rig.engine, config, &declared), 0);
}

static void end(void)
{
	declared_end(declared);
	rig_done(&rig);
	declared_free(declared);
}

static void apply(void)
{
	told_count = 0;
	declared_apply(declared, on_wrong, NULL);
}

static struct json_object *of(const char *name)
{
	struct json_object *session = NULL;
	_cleanup_json_ struct json_object *sessions = NULL;

	if (engine_status(rig.engine, name, &sessions) < 0)
		return NULL;
	session = json_object_array_get_idx(sessions, 0);
	return json_object_get(session);
}

static bool is_in(const char *name, const char *state)
{
	_cleanup_json_ struct json_object *session = of(name);

	return session && !strcmp(rig_text_at(session, "/state"), state);
}

/* Turns the loop until the session is in that state. */
static void await(const char *name, const char *state)
{
	uint64_t until = clocks_mono_ns() + RIG_TIMEOUT_USEC * 1000ULL;

	while (!is_in(name, state)) {
		ck_assert_msg(clocks_mono_ns() < until, "%s is not %s", name, state);
		sd_event_run(rig.control.event, 10000);
	}
}

static void output_of(const char *name, char output[256])
{
	_cleanup_json_ struct json_object *session = of(name);

	ck_assert_ptr_nonnull(session);
	snprintf(output, 256, "%s", rig_text_at(session, "/output"));
}

START_TEST(runs_what_files_say)
{
	_cleanup_json_ struct json_object *first = NULL, *changed = NULL, *again = NULL;
	char output[256], now[256];

	begin();
	write_file("db.session", "# a comment\n[Session]\nvfs=yes\ncommand=dd,cp\nno-snapshots=yes\n");
	apply();
	ck_assert_uint_eq(told_count, 0);
	await("db", "running");
	first = of("db");
	ck_assert_str_eq(rig_text_at(first, "/declared"), "true");
	ck_assert_str_eq(rig_text_at(first, "/filters/commands/1"), "cp");
	output_of("db", output);

	apply(); /* nothing is new: nothing happens */
	rig_settle(&rig);
	output_of("db", now);
	ck_assert_str_eq(now, output);

	/* Other filters: the same session goes on, in the same folder. */
	write_file("db.session", "[Session]\nvfs=on\ncommand=tar\nmin-latency=5ms\nno-snapshots=yes\n");
	apply();
	rig_settle(&rig);
	changed = of("db");
	ck_assert_str_eq(rig_text_at(changed, "/filters/commands/0"), "tar");
	ck_assert_uint_eq(json_object_array_length(json_object_object_get(json_object_object_get(changed, "filters"),
									  "commands")), 1);
	ck_assert_str_eq(rig_text_at(changed, "/filters/min_latency_ns"), "5000000");
	ck_assert_str_eq(rig_text_at(changed, "/output"), output);

	/* Anything else: it ends, and another one begins. */
	write_file("db.session", "[Session]\nvfs=yes\nblock=yes\nformat=jsonl\nno-snapshots=yes\n");
	sleep(1); /* folders are named by the second */
	apply();
	for (output_of("db", now); !strcmp(now, output); output_of("db", now))
		sd_event_run(rig.control.event, 10000);
	await("db", "running");
	again = of("db");
	ck_assert_str_eq(rig_text_at(again, "/format"), "jsonl");
	ck_assert_int_eq(json_object_object_length(json_object_object_get(again, "filters")), 0);

	unlink(path_of("db.session"));
	apply();
	rig_await_sessions(&rig, 0);
	ck_assert_uint_eq(told_count, 0);
	end();
}
END_TEST

/* Filters that somebody has changed by hand are those of the file again after a reload. */
START_TEST(puts_filters_back)
{
	_cleanup_json_ struct json_object *session = NULL;

	begin();
	write_file("one.session", "[Session]\nvfs=yes\ncommand=dd\nno-snapshots=yes\n");
	apply();
	await("one", "running");
	rig_expect(&rig, "{\"method\":\"io.iotracer.Set\",\"parameters\":{\"name\":\"one\",\"commands\":[\"other\"]}}", "", NULL,
		   NULL);
	apply();
	rig_settle(&rig);
	session = of("one");
	ck_assert_str_eq(rig_text_at(session, "/filters/commands/0"), "dd");
	end();
}
END_TEST

/* A file with an error changes nothing of what runs, and a client's session of that name is the client's. */
START_TEST(leaves_others_alone)
{
	char output[256], now[256];

	begin();
	rig_start(&rig, "mine", "");
	write_file("good.session", "[Session]\nvfs=yes\nno-snapshots=yes\n");
	write_file("mine.session", "[Session]\nblock=yes\n");
	apply();
	await("good", "running");
	ck_assert_uint_eq(told_count, 1);
	ck_assert_ptr_nonnull(strstr(said(0), "mine.session: a client has started a session of that name"));
	output_of("good", output);
	write_file("good.session", "[Session]\nvfs=yes\nmin-size=much\n");
	unlink(path_of("mine.session"));
	apply();
	rig_settle(&rig);
	ck_assert_uint_eq(told_count, 1);
	ck_assert_str_eq(said(0), "good.session:3: min-size=much: write a size such as 4096, 64K, 128M or 1.5G");
	ck_assert(is_in("mine", "running"));
	output_of("good", now);
	ck_assert_str_eq(now, output);
	end();
}
END_TEST

static void on_stopped(int result, struct json_object *status, void *userdata)
{
	ck_assert_int_ge(result, 0);
	json_object_put(status);
	*(bool *)userdata = true;
}

/* A session whose end has begun when its file is looked at begins again, as one that has ended would. */
START_TEST(begins_after_its_end)
{
	char output[PATH_MAX], now[PATH_MAX];
	bool stopped = false;

	begin();
	write_file("one.session", "[Session]\nvfs=yes\nno-snapshots=yes\n");
	apply();
	await("one", "running");
	output_of("one", output);
	ck_assert_int_ge(engine_stop(rig.engine, "one", on_stopped, &stopped), 0);
	ck_assert(!stopped);
	apply();
	rig_settle(&rig);
	await("one", "running");
	ck_assert(stopped);
	output_of("one", now);
	ck_assert_str_ne(now, output);
	end();
}
END_TEST

/* The daemon may end while a session is being replaced. */
START_TEST(ends_in_between)
{
	begin();
	write_file("one.session", "[Session]\nvfs=yes\nno-snapshots=yes\n");
	apply();
	await("one", "running");
	write_file("one.session", "[Session]\nvfs=yes\nblock=yes\nno-snapshots=yes\n");
	apply();
	write_file("one.session", "[Session]\nvfs=yes\ncache=yes\nno-snapshots=yes\n");
	apply();
	end();
}
END_TEST

/* What a folder must not do to the daemon: make it wait, read what is not root's own, or read without end. */
START_TEST(reads_regular_files_alone)
{
	static const char *const wrong[] = {
		"dev.session: it is no regular file", "fifo.session: it is no regular file", "folder.session: Is a directory",
		"huge.session: it is larger than 64 KiB", "link.session: it is a symbolic link",
		"loop.session: it is a symbolic link", "open.session: others than its owner may write it",
	};
	uint64_t before;

	begin();
	write_file("a.session", "[Session]\nvfs=yes\nno-snapshots=yes\n");
	write_file(".hidden.session", "nobody reads it");
	write_file("README", "nobody reads it");
	ck_assert_int_eq(mkfifo(path_of("fifo.session"), 0600), 0);
	ck_assert_int_eq(mkdir(path_of("folder.session"), 0700), 0);
	ck_assert_int_eq(symlink("/dev/zero", path_of("link.session")), 0);
	ck_assert_int_eq(symlink("loop.session", path_of("loop.session")), 0);
	write_file("huge.session", "[Session]\nvfs=yes\n");
	ck_assert_int_eq(truncate(path_of("huge.session"), 64 * 1024 + 1), 0);
	write_file("open.session", "[Session]\nvfs=yes\n");
	chmod(path_of("open.session"), 0666);
	if (mknod(path_of("dev.session"), S_IFCHR | 0600, 0x105) < 0) /* as an unprivileged user */
		ck_assert_int_eq(mkfifo(path_of("dev.session"), 0600), 0);
	before = clocks_mono_ns();
	apply();
	ck_assert_uint_lt(clocks_mono_ns() - before, 5000000000ULL);
	ck_assert_uint_eq(told_count, LENGTH(wrong));
	for (size_t i = 0; i < LENGTH(wrong); i++)
		ck_assert_str_eq(said(i), wrong[i]);
	await("a", "running");
	rig_await_sessions(&rig, 1);
	end();
}
END_TEST

/* A folder that cannot be read is not one whose files have gone. */
START_TEST(unreadable_folder_stops_nothing)
{
	char aside[PATH_MAX + 16];

	begin();
	write_file("a.session", "[Session]\nvfs=yes\nno-snapshots=yes\n");
	apply();
	await("a", "running");
	snprintf(aside, sizeof(aside), "%s.aside", folder);
	ck_assert_int_eq(rename(folder, aside), 0);
	ck_assert_int_eq(mknod(folder, S_IFREG | 0644, 0), 0);
	apply();
	ck_assert_uint_eq(told_count, 1);
	ck_assert_ptr_nonnull(strstr(told[0], ": Not a directory"));
	rig_settle(&rig);
	ck_assert(is_in("a", "running"));

	ck_assert_int_eq(unlink(folder), 0); /* a folder that is not there has no files */
	apply();
	rig_await_sessions(&rig, 0);
	end();
}
END_TEST

static size_t found;

static void count(const char *name, struct iotr_session_spec *spec, void *userdata)
{
	(void)name, (void)userdata;
	found += spec != NULL;
}

START_TEST(reads_so_many_files)
{
	struct folder temporary;
	char name[64];

	folder_begin(&temporary);
	make_folder(temporary.path);
	for (int i = 0; i <= SESSION_FILES_MAX; i++) {
		snprintf(name, sizeof(name), "s%d.session", i);
		write_file(name, "[Session]\nvfs=yes\n");
	}
	told_count = found = 0;
	session_files_read(folder, on_wrong, count, NULL);
	ck_assert_uint_eq(found, SESSION_FILES_MAX);
	ck_assert_uint_eq(told_count, 1);
	ck_assert_ptr_nonnull(strstr(told[0], ": there are more than 256 files of sessions, of which the first are read"));
	told_count = 0;
	session_files_read("/nowhere", on_wrong, count, NULL);
	ck_assert_uint_eq(told_count, 0);
	folder_end(&temporary);
}
END_TEST

/* Files with one thing wrong, and what is said of it after the path. */
static const struct {
	const char *text, *said;
} cases[] = {
	{ "", ": no stream is recorded: write vfs=yes, block=yes or all=yes in [Session]" },
	{ "vfs=yes\n", ":1: 'vfs=yes' stands before the section [Session]" },
	{ "[Sesion]\nvfs=yes\n", ":1: there is no section '[Sesion]': all keys stand in [Session]" },
	{ "[Session]\nvfs\n", ":2: 'vfs' is not KEY=VALUE" },
	{ "[Session]\nvfs=perhaps\n", ":2: vfs=perhaps: write yes or no" },
	{ "[Session]\nvsf=yes\n", ":2: there is no key 'vsf', did you mean 'vfs'?: keys are the options of 'iotracectl start'" },
	{ "[Session]\nvfs=yes\npid=1\n", ":3: pid: processes have other numbers each time: name them by command, unit or cgroup" },
	{ "[Session]\nvfs=yes\ncommand=a,,b\n", ":3: command=a,,b: a part of the list is empty: write NAME,NAME" },
	{ "[Session]\nvfs=yes\npath=srv\n", ":3: path=srv: write a path that begins with /" },
	{ "[Session]\nvfs=yes\noutput=srv\n", ":3: output=srv: write a path that begins with /" },
	{ "[Session]\nvfs=yes\nduration=5\n", ":3: duration=5: write a time such as 30s, 5m, 1h, 5ms or 250us" },
	{ "[Session]\nvfs=yes\nmax-events=0\n", ":3: max-events=0: write a whole number above 0" },
	{ "[Session]\nvfs=yes\nmax-size=99999999999G\n", ":3: max-size=99999999999G: it is out of range" },
	{ "[Session]\nvfs=yes\nsnapshot-depth=x\n", ":3: snapshot-depth=x: write a whole number" },
	{ "[Session]\nvfs=yes\nsnapshot-system=x\n", ":3: snapshot-system=x: write on or off" },
	{ "[Session]\nvfs=yes\nanonymize=x\n", ":3: anonymize=x: write session or host" },
	{ "[Session]\nvfs=yes\nsample=10\n", ":3: sample=10: write STREAM=N, as in cache=10" },
	{ "[Session]\nvfs=yes\nsample=x=10\n", ":3: sample=x=10: there is no such stream; write STREAM=N, as in cache=10" },
	{ "[Session]\nvfs=yes\nsample=vfs=x\n", ":3: sample=vfs=x: write a whole number, for one in so many events" },
	/* What Start refuses. */
	{ "[Session]\nvfs=yes\nsample=cache=2\n", ":3: sample: the session has no stream 'cache'" },
	{ "[Session]\nvfs=yes\nmax-size=1K\n", ":3: max-size: 1 KiB is too small: the minimum is 64 KiB" },
	{ "[Session]\nvfs=yes\nformat=xml\n", ":3: format: there is no format 'xml': csv and jsonl exist" },
	{ "[Session]\nvfs=yes\nflight-recorder=1K\n", ":3: flight-recorder: the memory of a flight recorder is from 1 MiB to 4 GiB" },
};

START_TEST(errors_name_line_and_key)
{
	struct folder temporary;

	folder_begin(&temporary);
	make_folder(temporary.path);
	write_file("x.session", cases[_i].text);
	told_count = 0;
	session_file_check(path_of("x.session"), on_wrong, NULL);
	ck_assert_msg(told_count == 1, "%zu findings in %s", told_count, cases[_i].text);
	ck_assert_str_eq(said(0), (snprintf(told[15], sizeof(told[0]), "x.session%s", cases[_i].said), told[15]));
	folder_end(&temporary);
}
END_TEST

START_TEST(names_are_those_of_sessions)
{
	struct folder temporary;

	folder_begin(&temporary);
	make_folder(temporary.path);
	write_file("a b.session", "[Session]\nvfs=yes\n");
	told_count = found = 0;
	session_files_read(folder, on_wrong, count, NULL);
	ck_assert_uint_eq(found, 0);
	ck_assert_ptr_nonnull(strstr(said(0), "a b.session: 'a b' cannot be the name of a session: it has up to 64 letters"));
	folder_end(&temporary);
}
END_TEST

static struct iotr_session_spec taken;

static void take(const char *name, struct iotr_session_spec *spec, void *userdata)
{
	(void)name, (void)userdata;
	ck_assert_ptr_nonnull(spec);
	taken = *spec;
	*spec = (struct iotr_session_spec){ 0 };
}

/* An empty value takes back what came before; a list grows; a stream that is "no" is none. */
START_TEST(values_are_those_of_options)
{
	struct folder temporary;

	folder_begin(&temporary);
	make_folder(temporary.path);
	write_file("x.session", "[X-Mine]\nanything\n[Session]\nnetwork=yes\nall=no\nall=yes\npagefault=no\n"
		   "block=no\niouring=off\nvfs=no\ntrigger=vfs.FSYNC p99 > 50ms for 10s\ntrigger=unit a.service failed\n"
		   "stop-on=lost > 1/s\ncommand=a,b\ncommand=\ncommand=c\\\n\n"
		   "command=d\nno-snapshots=no\nsnapshot-process=off\nrotate-size=off\nrotate-interval=90s\ncompress=none\n"
		   "cache-sample-rate=10\ncache=1\nanonymize=host\noutput=/srv/x\n");
	told_count = 0;
	session_files_read(folder, on_wrong, take, NULL);
	ck_assert_msg(!told_count, "%s", told[0]);
	ck_assert_uint_eq(taken.streams, 1U << IOTR_NET | 1U << IOTR_CONN | 1U << IOTR_EPOLL | 1U << IOTR_SOCKOPT |
						 1U << IOTR_DROP | 1U << IOTR_CACHE);
	ck_assert_uint_eq(taken.trigger_count, 2);
	ck_assert_str_eq(taken.triggers[1].text, "unit a.service failed");
	ck_assert_str_eq(taken.stops[0].text, "lost > 1/s");
	ck_assert_uint_eq(taken.command_count, 2);
	ck_assert_str_eq(taken.commands[0], "c");
	ck_assert_str_eq(taken.commands[1], "d");
	ck_assert_uint_eq(taken.snapshots.given, IOTR_SNAPSHOTS_PROCESS);
	ck_assert_uint_eq(taken.rotate_size, 0);
	ck_assert_uint_eq(taken.rotate_interval_ns, 90000000000ULL);
	ck_assert(!taken.compress);
	ck_assert_uint_eq(taken.sample[IOTR_CACHE], 10);
	ck_assert(taken.anonymize && taken.anonymize_host);
	ck_assert_str_eq(taken.output, "/srv/x");
	ck_assert_ptr_nonnull(taken.declared);
	iotr_session_spec_done(&taken);
	folder_end(&temporary);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, runs_what_files_say);
	tcase_add_test(tests, puts_filters_back);
	tcase_add_test(tests, leaves_others_alone);
	tcase_add_test(tests, begins_after_its_end);
	tcase_add_test(tests, ends_in_between);
	tcase_add_test(tests, reads_regular_files_alone);
	tcase_add_test(tests, unreadable_folder_stops_nothing);
	tcase_add_test(tests, reads_so_many_files);
	tcase_add_loop_test(tests, errors_name_line_and_key, 0, LENGTH(cases));
	tcase_add_test(tests, names_are_those_of_sessions);
	tcase_add_test(tests, values_are_those_of_options);
}

int main(void)
{
	return run_suite("declared", add_tests);
}
