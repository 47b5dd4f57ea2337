// SPDX-License-Identifier: GPL-2.0-or-later
/* The process that takes a snapshot, as the daemon sees it. */
#include "snapshot.h"

#include <errno.h>
#include <signal.h>
#include <sys/fanotify.h>
#include <sys/mount.h>
#include <time.h>

#include "folder.h"
#include "suite.h"

static struct folder folder, output;
static sd_event *event;
static struct snapshot *snapshot;
static struct snapshot_state last;
static unsigned int told, patience_ms;

static void begin(void)
{
	folder_begin(&folder);
	folder_begin(&output);
	ck_assert_int_ge(sd_event_new(&event), 0);
	snapshot = NULL;
	told = 0;
	patience_ms = 300;
}

static void end(void)
{
	snapshot_free(snapshot);
	sd_event_unref(event);
	folder_end(&output);
	folder_end(&folder);
}

static void on_state(const struct snapshot_state *state, void *userdata)
{
	(void)userdata;
	told++;
	last = *state;
	if (state->ended_ns)
		sd_event_exit(event, 0);
}

static void start(enum snapshot_kind kind, const char *root)
{
	struct snapshot_request request = { .kind = kind, .number = 1, .depth = 100, .patience_ms = patience_ms };

	snprintf(request.root, sizeof(request.root), "%s", root);
	ck_assert_int_eq(snapshot_new(event, PROGRAM, &request, output.fd, -1, on_state, NULL, &snapshot),
			 0);
}

static void take(enum snapshot_kind kind, const char *root)
{
	start(kind, root);
	ck_assert_int_eq(sd_event_loop(event), 0);
}

#define WALK_FILE "filesystem_snapshot/filesystem_snap_000001.csv.gz"

START_TEST(takes_one_of_files)
{
	ck_assert_int_eq(mkdirat(folder.fd, "a", 0755), 0);
	take(SNAPSHOT_FILESYSTEM, folder.path);
	ck_assert_int_eq(last.error, 0);
	ck_assert_uint_eq(last.file_count, 1);
	ck_assert_str_eq(last.files[0].path, WALK_FILE);
	ck_assert_uint_eq(last.files[0].rows, 2);
	ck_assert_uint_le(last.started_ns, last.ended_ns);
	ck_assert(folder_has(&output, WALK_FILE));
}
END_TEST

START_TEST(takes_one_of_the_system)
{
	take(SNAPSHOT_SYSTEM, "/");
	ck_assert_int_eq(last.error, 0);
	ck_assert_uint_eq(last.file_count, 2);
	ck_assert(folder_has(&output, "system_spec/device_spec.txt"));
	ck_assert(folder_has(&output, "system_spec/device_spec.json"));
}
END_TEST

START_TEST(tells_what_failed)
{
	take(SNAPSHOT_FILESYSTEM, "/nonexistent");
	ck_assert_int_eq(last.error, -ENOENT);
	ck_assert_uint_eq(last.file_count, 0);
	ck_assert_ptr_nonnull(strstr(last.message, "/nonexistent"));
	ck_assert(!folder_has(&output, WALK_FILE ".part"));
}
END_TEST

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Cancelled at any stage, the process soon ends and leaves no files. */
START_TEST(cancels)
{
	uint64_t before;

	start(SNAPSHOT_FILESYSTEM, "/");
	while (!folder_has(&output, WALK_FILE ".part"))
		ck_assert_int_ge(sd_event_run(event, 10000), 0);
	before = now_ms();
	snapshot_free(snapshot);
	snapshot = NULL;
	ck_assert_uint_lt(now_ms() - before, 10000);
	snapshot_removals_end((before + 10000) * 1000000);
	ck_assert(!folder_has(&output, WALK_FILE ".part"));
	ck_assert(!folder_has(&output, WALK_FILE));
}
END_TEST

START_TEST(waits_for_a_moment)
{
	start(SNAPSHOT_SYSTEM, "/");
	ck_assert(snapshot_wait(snapshot, 30000));
	ck_assert_int_eq(snapshot_state(snapshot)->error, 0);
	ck_assert_uint_eq(snapshot_state(snapshot)->file_count, 2);
	ck_assert_uint_eq(told, 0);
}
END_TEST

START_TEST(notices_a_death)
{
	const struct snapshot_request request = { .kind = SNAPSHOT_SYSTEM, .number = 1 };

	ck_assert_int_eq(snapshot_new(event, "/bin/true", &request, output.fd, -1, on_state, NULL,
				      &snapshot),
			 0);
	ck_assert_int_eq(sd_event_loop(event), 0);
	ck_assert_int_eq(last.error, -ECONNRESET);
	ck_assert_uint_eq(last.file_count, 0);
}
END_TEST

START_TEST(needs_a_program)
{
	const struct snapshot_request request = { .kind = SNAPSHOT_SYSTEM, .number = 1 };

	ck_assert_int_eq(snapshot_new(event, "/nonexistent", &request, output.fd, -1, on_state, NULL,
				      &snapshot),
			 -ENOENT);
}
END_TEST

/* Mounts a FUSE file system that never answers; -1: that is not possible here. */
static int hang(const char *path)
{
	char data[128];
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	snprintf(data, sizeof(data), "fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
	if (fd >= 0 && !mount("hung", path, "fuse", 0, data))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* If the root itself does not answer, the snapshot fails. */
START_TEST(gives_up_on_a_root_that_hangs)
{
	int fuse = hang(folder.path);

	if (fuse < 0)
		return;
	take(SNAPSHOT_FILESYSTEM, folder.path);
	umount2(folder.path, MNT_DETACH);
	close(fuse);
	ck_assert_int_eq(last.error, -ETIMEDOUT);
	ck_assert_ptr_nonnull(strstr(last.message, folder.path));
	ck_assert(!folder_has(&output, WALK_FILE ".part"));
}
END_TEST

/* One of several file systems does not answer: the others are in the snapshot, and the message names it. */
START_TEST(goes_on_past_what_hangs)
{
	int fuse = hang(folder.path);
	char *text;

	if (fuse < 0)
		return;
	take(SNAPSHOT_SYSTEM, "/");
	umount2(folder.path, MNT_DETACH);
	close(fuse);
	ck_assert_int_eq(last.error, 0);
	ck_assert_uint_eq(last.skipped, 1);
	ck_assert_ptr_nonnull(strstr(last.message, folder.path));
	text = folder_read(&output, "system_spec/device_spec.json", NULL);
	ck_assert_ptr_nonnull(strstr(text, folder.path));
	ck_assert_ptr_nonnull(strstr(text, "\"links\""));
	free(text);
}
END_TEST

/* Whoever opens one of these folders waits until the descriptor is closed. -1: not here. */
static int hold_folders(int count)
{
	int held = fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC, O_RDONLY);
	char path[128];

	for (int i = 0; held >= 0 && i < count; i++) {
		snprintf(path, sizeof(path), "%s/%d", folder.path, i);
		ck_assert_int_eq(mkdir(path, 0755), 0);
		if (fanotify_mark(held, FAN_MARK_ADD, FAN_OPEN_PERM | FAN_ONDIR, AT_FDCWD, path) < 0) {
			close(held);
			held = -1;
		}
	}
	return held;
}

/* Too many file systems that do not answer: the snapshot fails, and its unfinished file is removed. */
START_TEST(gives_up_on_too_much_that_hangs)
{
	int held = hold_folders(20);

	if (held < 0)
		return;
	patience_ms = 1;
	take(SNAPSHOT_FILESYSTEM, folder.path);
	close(held);
	ck_assert_int_eq(last.error, -ETIMEDOUT);
	ck_assert_ptr_nonnull(strstr(last.message, "16 things do not answer"));
	ck_assert_uint_eq(last.file_count, 0);
	ck_assert(!folder_has(&output, WALK_FILE ".part"));
	ck_assert(!folder_has(&output, WALK_FILE));
}
END_TEST

START_TEST(knows_its_kinds)
{
	for (int kind = 0; kind < SNAPSHOT_KIND_COUNT; kind++)
		ck_assert_int_eq(snapshot_kind_find(snapshot_kind_name(kind)), kind);
	ck_assert_int_eq(snapshot_kind_find("all"), -ENOENT);
	ck_assert_int_eq(snapshot_kind_find(""), -ENOENT);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_test(tests, takes_one_of_files);
	tcase_add_test(tests, takes_one_of_the_system);
	tcase_add_test(tests, tells_what_failed);
	tcase_add_test(tests, cancels);
	tcase_add_test(tests, waits_for_a_moment);
	tcase_add_test(tests, notices_a_death);
	tcase_add_test(tests, needs_a_program);
	tcase_add_test(tests, gives_up_on_a_root_that_hangs);
	tcase_add_test(tests, goes_on_past_what_hangs);
	tcase_add_test(tests, gives_up_on_too_much_that_hangs);
	tcase_add_test(tests, knows_its_kinds);
}

int main(void)
{
	return run_suite("snapshot", add);
}
