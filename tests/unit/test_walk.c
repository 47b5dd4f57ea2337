// SPDX-License-Identifier: GPL-2.0-or-later
#include "walk.h"

#include <errno.h>
#include <linux/stat.h>
#include <pthread.h>
#include <sys/fanotify.h>
#include <sys/mount.h>
#include <time.h>

#include "folder.h"
#include "suite.h"

enum { TOLD_MAX = 400 };

static struct folder folder;
static struct guard guard;
static char *told[TOLD_MAX];
static size_t told_count;
static int answer;

static void begin(void)
{
	folder_begin(&folder);
	told_count = 0;
	answer = 0;
	guard = (struct guard){ 0 };
}

static void end(void)
{
	for (size_t i = 0; i < told_count; i++)
		free(told[i]);
	folder_end(&folder);
}

static int on_entry(const struct walk_entry *entry, void *userdata)
{
	(void)userdata;
	ck_assert_uint_eq(strlen(entry->path), entry->length);
	ck_assert_uint_lt(told_count, TOLD_MAX);
	told[told_count++] = strdup(entry->path);
	return answer;
}

static int walk_to(const char *root, uint32_t depth, const char *mountinfo, uint64_t *skipped)
{
	const struct walk_config config = { .root = root,
					    .mountinfo = mountinfo,
					    .depth = depth,
					    .guard = &guard,
					    .handler = on_entry };
	struct walk *walk;
	int r;

	ck_assert_int_eq(walk_new(&config, &walk), 0);
	r = walk_run(walk);
	if (skipped)
		*skipped = walk_skipped(walk);
	walk_free(walk);
	return r;
}

static size_t times_told(const char *below)
{
	char path[512];
	size_t times = 0;

	snprintf(path, sizeof(path), "%s%s", folder.path, below);
	for (size_t i = 0; i < told_count; i++)
		times += !strcmp(told[i], path);
	return times;
}

static void make_folder(const char *name)
{
	ck_assert_int_eq(mkdirat(folder.fd, name, 0755), 0);
}

static void make_file(const char *name)
{
	int fd = openat(folder.fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	ck_assert_int_ge(fd, 0);
	close(fd);
}

START_TEST(goes_to_its_depth)
{
	static const size_t counts[] = { 1, 3, 4, 5, 5 };

	make_folder("a");
	make_folder("a/b");
	make_folder("a/b/c");
	make_file("f");
	ck_assert_int_eq(walk_to(folder.path, (uint32_t)_i, NULL, NULL), 0);
	ck_assert_uint_eq(told_count, counts[_i]);
	ck_assert_str_eq(told[0], folder.path);
	ck_assert_uint_eq(times_told("/a/b/c"), _i >= 3);
}
END_TEST

START_TEST(takes_any_name)
{
	make_file("new\nline");
	make_file("\xff\xfe,\"");
	make_folder("...");
	make_file(".../..hidden");
	ck_assert_int_eq(symlinkat("..", folder.fd, "up"), 0);
	ck_assert_int_eq(symlinkat("nowhere", folder.fd, "dangling"), 0);
	ck_assert_int_eq(mknodat(folder.fd, "fifo", S_IFIFO | 0600, 0), 0);
	ck_assert_int_eq(walk_to(folder.path, 9, NULL, NULL), 0);
	ck_assert_uint_eq(told_count, 8);
	ck_assert_uint_eq(times_told("/new\nline"), 1);
	ck_assert_uint_eq(times_told("/\xff\xfe,\""), 1);
	ck_assert_uint_eq(times_told("/.../..hidden"), 1);
	ck_assert_uint_eq(times_told("/up"), 1);
}
END_TEST

/* More levels than descriptors, with entries left in each level when the walk returns to it. */
START_TEST(goes_deep_and_returns)
{
	int fd = openat(folder.fd, ".", O_RDONLY | O_DIRECTORY), next;

	for (int i = 0; i < WALK_OPEN_MAX + 40; i++) {
		ck_assert_int_eq(mkdirat(fd, "d", 0755), 0);
		ck_assert_int_eq(mkdirat(fd, "e", 0755), 0);
		next = openat(fd, "d", O_RDONLY | O_DIRECTORY);
		close(fd);
		fd = next;
	}
	close(fd);
	ck_assert_int_eq(walk_to(folder.path, 10000, NULL, NULL), 0);
	ck_assert_uint_eq(told_count, 1 + 2 * (WALK_OPEN_MAX + 40));
}
END_TEST

static const struct {
	const char *root;
	int error;
} bad_roots[] = {
	{ "/nonexistent/folder", -ENOENT },
	{ "/etc/passwd", -ENOTDIR },
	{ "/dev/null", -ENOTDIR },
	{ "/proc", -EINVAL },
	{ "/proc/self", -EINVAL },
};

START_TEST(refuses_bad_roots)
{
	ck_assert_int_eq(walk_to(bad_roots[_i].root, 3, NULL, NULL), bad_roots[_i].error);
	ck_assert_uint_eq(told_count, 0);
}
END_TEST

START_TEST(refuses_fifo)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/fifo", folder.path);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_eq(walk_to(path, 3, NULL, NULL), -ENOTDIR);
}
END_TEST

START_TEST(ends_with_the_handler)
{
	make_file("f");
	answer = -ENOSPC;
	ck_assert_int_eq(walk_to(folder.path, 3, NULL, NULL), -ENOSPC);
	ck_assert_uint_eq(told_count, 1);
}
END_TEST

static int remove_behind(const struct walk_entry *entry, void *userdata)
{
	(void)entry, (void)userdata;
	unlinkat(folder.fd, "a/one", 0);
	unlinkat(folder.fd, "a/two", 0);
	told_count++;
	return 0;
}

/* Files that vanish during the walk are neither errors nor counted. */
START_TEST(leaves_out_what_vanishes)
{
	const struct walk_config config = { .root = folder.path,
					    .depth = 5,
					    .guard = &guard,
					    .handler = remove_behind };
	struct walk *walk;

	make_folder("a");
	make_file("a/one");
	make_file("a/two");
	ck_assert_int_eq(walk_new(&config, &walk), 0);
	ck_assert_int_eq(walk_run(walk), 0);
	ck_assert_uint_eq(walk_skipped(walk), 0);
	walk_free(walk);
	told_count = 0;
}
END_TEST

static bool mount_on(const char *source, const char *name, const char *type, unsigned long flags,
		     const char *data)
{
	char path[128], from[128];

	snprintf(path, sizeof(path), "%s/%s", folder.path, name);
	snprintf(from, sizeof(from), "%s/%s", folder.path, source);
	return !mount(from, path, type, flags, data);
}

static void unmount(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder.path, name);
	umount2(path, MNT_DETACH);
}

START_TEST(enters_bind_mounts_once)
{
	make_folder("a");
	make_folder("a/in");
	make_file("a/in/f");
	make_folder("b");
	make_folder("a/in/loop");
	if (!mount_on("a", "b", NULL, MS_BIND, NULL))
		return;
	ck_assert(mount_on(".", "a/in/loop", NULL, MS_BIND, NULL));
	ck_assert_int_eq(walk_to(folder.path, 100, NULL, NULL), 0);
	unmount("a/in/loop");
	unmount("b");
	ck_assert_uint_eq(times_told("/a/in/f") + times_told("/b/in/f"), 1);
	ck_assert_uint_eq(times_told("/a"), 1);
	ck_assert_uint_eq(times_told("/b"), 1);
	ck_assert_uint_le(told_count, 8);
}
END_TEST

START_TEST(stays_on_the_device)
{
	char path[128];
	int fd;

	make_folder("t");
	if (!mount_on(".", "t", "tmpfs", 0, "size=64k"))
		return;
	snprintf(path, sizeof(path), "%s/t/f", folder.path);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	close(fd);
	ck_assert_int_eq(walk_to(folder.path, 100, NULL, NULL), 0);
	unmount("t");
	ck_assert_uint_eq(told_count, 1);
}
END_TEST

/* ---- a file system that never answers: FUSE without a server ---- */

static int hang(const char *name)
{
	char data[128];
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	snprintf(data, sizeof(data), "fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
	if (fd >= 0 && mount_on(".", name, "fuse", 0, data))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static int run_result;
static _Atomic bool run_ended;

static void *run(void *walk)
{
	run_result = walk_run(walk);
	atomic_store(&run_ended, true);
	return NULL;
}

static void wait_a_moment(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
}

/* Waits until a call hangs; the time limit of the test case ends it. */
static uint64_t wait_hung(void)
{
	uint64_t call = 0, now;

	for (unsigned int still = 0; still < 5; call = now) {
		wait_a_moment();
		ck_assert(!atomic_load(&run_ended));
		now = guard_call(&guard);
		still = now && now == call ? still + 1 : 0;
	}
	return call;
}

static void wait_ended(void)
{
	while (!atomic_load(&run_ended))
		wait_a_moment();
}

static void start_run(struct walk *walk)
{
	pthread_t thread;

	atomic_store(&run_ended, false);
	ck_assert_int_eq(pthread_create(&thread, NULL, run, walk), 0);
	pthread_detach(thread);
}

/* Makes opens or reads of the folder wait until the descriptor is closed; -1: that is not possible here. */
static int hold(const char *name, uint64_t event)
{
	char path[128];
	int fd = fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC, O_RDONLY);

	snprintf(path, sizeof(path), "%s/%s", folder.path, name);
	if (fd >= 0 && !fanotify_mark(fd, FAN_MARK_ADD, event | FAN_ONDIR, AT_FDCWD, path))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static const uint64_t held_events[] = { FAN_OPEN_PERM, FAN_ACCESS_PERM };

START_TEST(goes_on_past_what_hangs)
{
	const struct walk_config config = { .root = folder.path,
					    .depth = 5,
					    .guard = &guard,
					    .handler = on_entry };
	struct walk *walk;
	uint64_t call;
	int held;

	make_folder("a");
	make_file("a/f");
	make_folder("hung");
	make_file("hung/f");
	make_folder("z");
	make_file("z/f");
	held = hold("hung", held_events[_i]);
	if (held < 0)
		return;
	ck_assert_int_eq(walk_new(&config, &walk), 0);
	start_run(walk);
	call = wait_hung();
	ck_assert(guard_abandon(&guard, call));
	ck_assert_ptr_nonnull(strstr(walk_pass(walk), "/hung"));
	start_run(walk);
	wait_ended();
	ck_assert_int_eq(run_result, 0);
	ck_assert_uint_eq(walk_skipped(walk), 1);
	ck_assert_uint_eq(told_count, 6);
	ck_assert_uint_eq(times_told("/a/f"), 1);
	ck_assert_uint_eq(times_told("/z/f"), 1);
	ck_assert_uint_eq(times_told("/hung"), 1);
	close(held); /* wakes the thread that hung, which must not use the walk any more */
	wait_a_moment();
	walk_free(walk);
}
END_TEST

/* The mount table shows that the folder is another file system, so the walk does not access it. */
START_TEST(does_not_touch_what_hangs)
{
	int fuse;

	make_folder("hung");
	make_file("f");
	fuse = hang("hung");
	if (fuse < 0)
		return;
	ck_assert_int_eq(walk_to(folder.path, 5, NULL, NULL), 0);
	unmount("hung");
	close(fuse);
	ck_assert_uint_eq(told_count, 2);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_loop_test(tests, goes_to_its_depth, 0, 5);
	tcase_add_test(tests, takes_any_name);
	tcase_add_test(tests, goes_deep_and_returns);
	tcase_add_loop_test(tests, refuses_bad_roots, 0,
			    (int)(sizeof(bad_roots) / sizeof(bad_roots[0])));
	tcase_add_test(tests, refuses_fifo);
	tcase_add_test(tests, ends_with_the_handler);
	tcase_add_test(tests, leaves_out_what_vanishes);
	tcase_add_test(tests, enters_bind_mounts_once);
	tcase_add_test(tests, stays_on_the_device);
	tcase_add_loop_test(tests, goes_on_past_what_hangs, 0, 2);
	tcase_add_test(tests, does_not_touch_what_hangs);
}

int main(void)
{
	return run_suite("walk", add);
}
