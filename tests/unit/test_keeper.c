// SPDX-License-Identifier: GPL-2.0-or-later
/* Compression, and the manifests of sessions that have ended, with real files and the real thread. */
#include "storage_rig.h"

#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>

START_TEST(compresses)
{
	struct trace_change change;
	struct stat status, text;
	char command[512], sum[SHA256_HEX_SIZE];
	eventfd_t value;
	int event = eventfd(0, EFD_NONBLOCK);

	begin(0, 0);
	trace = add_trace("a", &(struct trace_config){ .compress = true });
	trace_notify(trace, event);
	write_file("same", SIZE);
	ck_assert_int_eq(fstatat(logs.fd, "same", &text, 0), 0);
	ck_assert_int_eq(add_segment(trace, "a", 1), 0);
	wait_compressed(trace);
	ck_assert(!has("a", 1, "") && !has("a", 1, ".gz.part"));
	snprintf(command, sizeof(command), "cd %s && zcat %s | cmp - same", logs.path,
		 path_of("a", 1, ".gz"));
	ck_assert_int_eq(system(command), 0);
	ck_assert_int_eq(fstatat(logs.fd, path_of("a", 1, ".gz"), &status, 0), 0);
	ck_assert_uint_eq(used(trace), (uint64_t)status.st_size);
	ck_assert_int_le(status.st_mtim.tv_sec - text.st_mtim.tv_sec, 1);
	ck_assert_int_eq(eventfd_read(event, &value), 0);
	ck_assert(trace_next_change(trace, &change));
	ck_assert(!change.removed && change.number == 1);
	ck_assert_uint_eq(change.stored, (uint64_t)status.st_size);
	sha256_format(change.stored_sha256, sum);
	snprintf(command, sizeof(command), "cd %s && echo '%s  %s' | sha256sum -c --status", logs.path, sum,
		 path_of("a", 1, ".gz"));
	ck_assert_int_eq(system(command), 0);
	close(event);
	end();
}
END_TEST

/* Older segments are removed if compression needs space; without any, it waits. */
START_TEST(compresses_within_the_limit)
{
	begin(0, 0);
	trace = add_trace("a", &(struct trace_config){ .compress = true, .keep_size = 2 * SIZE });
	ck_assert_int_eq(add_segment(trace, "a", 1), 0);
	wait_compressed(trace);
	ck_assert(has("a", 1, ".gz"));
	ck_assert_int_eq(trace_take(trace, 2 * SIZE - used(trace) - SIZE, TRACE_ROOM_NONE), 0);
	ck_assert_int_eq(add_segment(trace, "a", 2), 0);
	wait_compressed(trace);
	ck_assert(!has("a", 1, ".gz") && has("a", 2, ".gz"));
	ck_assert_uint_le(used(trace), 2 * SIZE);
	end();
}
END_TEST

START_TEST(waits_where_there_is_no_room)
{
	struct trace_counts counts;

	begin(0, 0);
	trace = add_trace("a", &(struct trace_config){ .compress = true, .keep_size = SIZE });
	ck_assert_int_eq(add_segment(trace, "a", 1), 0);
	poll(NULL, 0, 100);
	for (int i = 0; i < 1000 && has("a", 1, ".gz.part"); i++) /* it is tried again now and then */
		poll(NULL, 0, 10);
	trace_counts(trace, &counts);
	ck_assert_uint_eq(counts.waiting, 1);
	ck_assert(has("a", 1, "") && !has("a", 1, ".gz") && !has("a", 1, ".gz.part"));
	ck_assert_uint_eq(counts.used, SIZE);
	ck_assert_int_eq(add_segment(trace, "a", 2), 0); /* which the waiting one does not block */
	ck_assert(!has("a", 1, "") && has("a", 2, ""));
	end();
}
END_TEST

START_TEST(tells_the_manifest_of_an_ended_session)
{
	char command[512];
	struct stat status;

	begin(0, 0);
	trace = add_trace("a", &(struct trace_config){ .compress = true, .keep_segments = 2 });
	write_manifest(trace, "a");
	ck_assert_int_eq(add_segment(trace, "a", 1), 0);
	ck_assert_int_eq(add_segment(trace, "a", 2), 0);
	trace_free(trace);
	trace = NULL;
	wait_manifest("a", "/segments/1/state", "compressed");
	wait_manifest("a", "/segments/1/path", "fs/fs_000002.csv.gz");
	snprintf(command, sizeof(command), "cd %s && echo '%s  %s' | sha256sum -c --status", logs.path,
		 manifest_at("a", "/segments/1/stored_sha256"), path_of("a", 2, ".gz"));
	ck_assert_int_eq(system(command), 0);
	ck_assert_str_eq(manifest_at("a", "/segments/0/state"), "compressed");
	ck_assert_str_eq(manifest_at("a", "/segments/0/bytes"), "65536");
	ck_assert_str_eq(manifest_at("a", "/streams/vfs/removed"), "5");
	/* Room for the second one and two manifests. */
	ck_assert_int_eq(fstatat(logs.fd, path_of("a", 2, ".gz"), &status, 0), 0);
	storage_set_limits(storage, &(struct storage_limits){ .max_use = (uint64_t)status.st_size + 4096 });
	wait_manifest("a", "/segments/0/state", "removed");
	ck_assert_str_eq(manifest_at("a", "/segments/0/stored_sha256"), "(null)");
	ck_assert_str_eq(manifest_at("a", "/segments/1/state"), "compressed");
	end();
}
END_TEST

/* The manifest cannot be written for a while. */
START_TEST(tells_the_manifest_later)
{
	begin(0, 0);
	trace = add_trace("a", &(struct trace_config){ .compress = true, .keep_segments = 2 });
	write_manifest(trace, "a");
	ck_assert_int_eq(mkdirat(logs.fd, "a/start/manifest.json.tmp", 0700), 0);
	ck_assert_int_eq(add_segment(trace, "a", 1), 0);
	trace_free(trace);
	trace = NULL;
	for (int i = 0; i < 500 && has("a", 1, ""); i++)
		poll(NULL, 0, 10);
	poll(NULL, 0, 100);
	ck_assert_str_eq(manifest_at("a", "/segments/0/state"), "closed");
	ck_assert_int_eq(unlinkat(logs.fd, "a/start/manifest.json.tmp", AT_REMOVEDIR), 0);
	wait_manifest("a", "/segments/0/state", "compressed");
	ck_assert_str_eq(manifest_at("a", "/segments/1/state"), "closed");
	end();
}
END_TEST

/* Also while many segments wait for compression. */
START_TEST(tells_of_removals_soon)
{
	const unsigned int many = 100;
	struct trace_counts counts;
	struct trace *other;
	char file[32];

	begin(0, 0);
	trace = add_trace("a", &(struct trace_config){ 0 });
	write_manifest(trace, "a");
	ck_assert_int_eq(add_segment(trace, "a", 1), 0);
	trace_free(trace);
	trace = other = add_trace("b", &(struct trace_config){ .compress = true });
	for (unsigned int i = 1; i <= many; i++) {
		ck_assert_int_eq(trace_take(other, SIZE, TRACE_ROOM_OLDEST), 0);
		write_file(path_of("b", i, ""), SIZE);
		trace_settle(other, SIZE, SIZE);
	}
	for (unsigned int i = 1; i <= many; i++) { /* at once, so that compression has hardly begun */
		snprintf(file, sizeof(file), "fs_%06u.csv", i);
		trace_closed(other, IOTR_VFS, i, file, SIZE, 10);
	}
	/* The limit is below what is used, also where some segments are compressed already. */
	storage_set_limits(storage, &(struct storage_limits){ .max_use = (many - 20) * SIZE });
	wait_manifest("a", "/segments/0/state", "removed");
	trace_counts(other, &counts);
	ck_assert_uint_gt(counts.waiting, 0);
	end();
}
END_TEST

/* The end does not wait for it. */
START_TEST(ends_without_the_manifest)
{
	begin(0, 0);
	trace = add_trace("a", &(struct trace_config){ .compress = true });
	write_manifest(trace, "a");
	ck_assert_int_eq(mkdirat(logs.fd, "a/start/manifest.json.tmp", 0700), 0);
	ck_assert_int_eq(add_segment(trace, "a", 1), 0);
	wait_compressed(trace);
	end();
}
END_TEST

START_TEST(ends_at_once)
{
	struct timespec from, to;

	begin(0, 0);
	trace = add_trace("a", &(struct trace_config){ .compress = true });
	for (unsigned int i = 1; i <= 200; i++)
		ck_assert_int_eq(add_segment(trace, "a", i), 0);
	trace_free(trace);
	trace = NULL;
	clock_gettime(CLOCK_MONOTONIC, &from);
	storage_free(storage);
	clock_gettime(CLOCK_MONOTONIC, &to);
	ck_assert_int_le(to.tv_sec - from.tv_sec, 10);
	for (unsigned int i = 1; i <= 200; i++) {
		ck_assert(has("a", i, "") != has("a", i, ".gz"));
		ck_assert(!has("a", i, ".gz.part"));
	}
	folder_end(&logs);
}
END_TEST

/* In a folder of another user anything may be in place of a segment; other segments are compressed all the same. */
static void stands_in_the_way(const char *name, int (*put)(const char *path))
{
	struct trace *other;

	begin(0, 0);
	trace = add_trace("a", &(struct trace_config){ .compress = true });
	ck_assert_int_eq(put(path_of("a", 1, "")), 0);
	trace_closed(trace, IOTR_VFS, 1, "fs_000001.csv", SIZE, 10);
	other = add_trace("b", &(struct trace_config){ .compress = true });
	ck_assert_int_eq(add_segment(other, "b", 1), 0);
	wait_compressed(other);
	ck_assert(has("b", 1, ".gz"));
	wait_compressed(trace);
	ck_assert_msg(has("a", 1, "") && !has("a", 1, ".gz"), "%s was compressed", name);
	trace_free(other);
	end();
}

static int put_fifo(const char *path)
{
	return mkfifoat(logs.fd, path, 0600);
}

static int put_link(const char *path)
{
	write_file("secret", SIZE);
	return linkat(logs.fd, "secret", logs.fd, path, 0);
}

static int put_symlink(const char *path)
{
	write_file("secret", SIZE);
	return symlinkat("../../../secret", logs.fd, path);
}

START_TEST(compresses_no_fifo)
{
	stands_in_the_way("a FIFO", put_fifo);
}
END_TEST

START_TEST(compresses_no_link)
{
	stands_in_the_way("another file's second name", put_link);
	stands_in_the_way("what a symbolic link leads to", put_symlink);
}
END_TEST

/* The folder was moved away, and another one has its path. */
START_TEST(compresses_in_no_other_folder)
{
	char path[PATH_MAX];

	begin(0, 0);
	trace = add_trace("a", &(struct trace_config){ .compress = true });
	trace_ended(trace);
	snprintf(path, sizeof(path), "%s/a/start", logs.path);
	ck_assert_int_eq(renameat(logs.fd, "a/start", logs.fd, "a/before"), 0);
	ck_assert_int_eq(mkdirat(logs.fd, "a/start", 0700), 0);
	ck_assert_int_eq(mkdirat(logs.fd, "a/start/fs", 0700), 0);
	ck_assert_int_eq(add_segment(trace, "a", 1), 0);
	wait_compressed(trace);
	ck_assert(has("a", 1, "") && !has("a", 1, ".gz"));
	end();
}
END_TEST

/* The end does not wait for it, and it is not read. */
static void strange_manifest(int (*put)(const char *path))
{
	struct rusage before, after;

	begin(0, 0);
	trace = add_trace("a", &(struct trace_config){ .compress = true });
	ck_assert_int_eq(put("a/start/manifest.json"), 0);
	ck_assert_int_eq(add_segment(trace, "a", 1), 0);
	getrusage(RUSAGE_SELF, &before);
	trace_ended(trace);
	wait_compressed(trace);
	end();
	getrusage(RUSAGE_SELF, &after);
	ck_assert_int_lt(after.ru_maxrss - before.ru_maxrss, 64 * 1024); /* KiB */
}

static int put_huge(const char *path)
{
	int fd = openat(logs.fd, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	return ftruncate(fd, 256 << 20) < 0 ? -1 : close(fd);
}

START_TEST(reads_no_strange_manifest)
{
	strange_manifest(put_fifo);
	strange_manifest(put_huge);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, compresses_no_fifo);
	tcase_add_test(tests, compresses_no_link);
	tcase_add_test(tests, compresses_in_no_other_folder);
	tcase_add_test(tests, reads_no_strange_manifest);
	tcase_add_test(tests, compresses);
	tcase_add_test(tests, compresses_within_the_limit);
	tcase_add_test(tests, waits_where_there_is_no_room);
	tcase_add_test(tests, tells_the_manifest_of_an_ended_session);
	tcase_add_test(tests, tells_the_manifest_later);
	tcase_add_test(tests, tells_of_removals_soon);
	tcase_add_test(tests, ends_without_the_manifest);
	tcase_add_test(tests, ends_at_once);
}

int main(void)
{
	return run_suite("keeper", add);
}
