// SPDX-License-Identifier: GPL-2.0-or-later
/* Traces of earlier daemons, found at the start. */
#include "storage_rig.h"

#include <time.h>

/* The folder of a session whose daemon was killed. */
START_TEST(takes_up_what_is_there)
{
	begin(0, 0);
	trace = add_trace("a", &(struct trace_config){ 0 });
	write_manifest(trace, "a");
	ck_assert_int_eq(add_segment(trace, "a", 1), 0);
	ck_assert_int_eq(add_segment(trace, "a", 2), 0);
	trace_free(trace);
	storage_free(storage);
	write_file(path_of("a", 2, ".gz.part"), 100);
	write_file(path_of("a", 1, ".gz"), 1000);
	ck_assert_int_eq(storage_new(logs.path, &own,
				     &(struct storage_limits){
					     .max_use = SIZE + 1000 + sizeof(manifest_text) - 1 },
				     NULL, &storage),
			 0);
	ck_assert(!has("a", 2, ".gz.part") && has("a", 2, ""));
	ck_assert(!has("a", 1, "") && has("a", 1, ".gz"));
	trace = add_trace("b", &(struct trace_config){ 0 });
	ck_assert_int_eq(trace_take(trace, 1, TRACE_ROOM_OLDEST), 0);
	ck_assert(!has("a", 2, "") || !has("a", 1, ".gz"));
	ck_assert(has("a", 2, "") || has("a", 1, ".gz"));
	end();
}
END_TEST

/* A table of cgroups stands for rows, and goes with the folder when these have gone; a snapshot stays. */
START_TEST(removes_a_table_without_rows)
{
	begin(0, 0);
	for (int i = 0; i < 2; i++) {
		trace = add_trace(i ? "b" : "a", &(struct trace_config){ 0 });
		write_manifest(trace, i ? "b" : "a");
		trace_free(trace);
	}
	storage_free(storage);
	ck_assert(!mkdirat(logs.fd, "a/start/cgroups", 0700) && !mkdirat(logs.fd, "b/start/fs_snapshot", 0700));
	write_file("a/start/cgroups/cgroups.csv", SIZE);
	write_file("b/start/fs_snapshot/fs_snapshot_1.csv", SIZE);
	ck_assert_int_eq(storage_new(logs.path, &own, &(struct storage_limits){ .max_use = 3 * SIZE }, NULL, &storage), 0);
	trace = add_trace("c", &(struct trace_config){ 0 });
	ck_assert_int_eq(add_segment(trace, "c", 1), 0);
	ck_assert(!folder_has(&logs, "a/start") && folder_has(&logs, "b/start/fs_snapshot/fs_snapshot_1.csv"));
	end();
}
END_TEST

/* A recovered folder: the segments that recovery closed are counted, compressed, and removed. */
START_TEST(takes_up_what_was_recovered)
{
	char path[PATH_MAX];
	const char *const recovered[] = { path, NULL };

	begin(0, 0);
	snprintf(path, sizeof(path), "%s/a/start", logs.path);
	trace = add_trace("a", &(struct trace_config){ 0 });
	write_manifest(trace, "a");
	ck_assert_int_eq(add_segment(trace, "a", 1), 0);
	trace_free(trace);
	storage_free(storage);
	write_file(path_of("a", 2, ".part"), SIZE);
	ck_assert_int_eq(storage_new(logs.path, &own, &(struct storage_limits){ .max_use = 3 * SIZE },
				     recovered, &storage),
			 0);
	/* Older segments are removed for space; the manifest is not written before recovery is done. */
	trace = add_trace("b", &(struct trace_config){ 0 });
	ck_assert_int_eq(add_segment(trace, "b", 1), 0);
	ck_assert(!has("a", 1, "") && has("a", 2, ".part"));
	poll(NULL, 0, 50);
	ck_assert_str_eq(manifest_at("a", "/segments/0/state"), "closed");
	ck_assert_int_eq(renameat(logs.fd, "a/start/fs/fs_000002.csv.part", logs.fd,
				  "a/start/fs/fs_000002.csv"),
			 0);
	storage_recovered(storage, path, true);
	storage_recovered(storage, path, true); /* no longer one of them */
	wait_manifest("a", "/segments/0/state", "removed");
	wait_manifest("a", "/segments/1/state", "compressed");
	ck_assert(has("a", 2, ".gz") && !has("a", 2, ""));
	ck_assert_str_eq(manifest_at("a", "/streams/vfs/removed"), "15");
	ck_assert_int_eq(trace_take(trace, 2 * SIZE, TRACE_ROOM_OLDEST), 0);
	ck_assert(!has("a", 2, ".gz"));
	end();
}
END_TEST

/* CPU time of this process, in ns. */
static uint64_t cpu_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

/* CPU time of a storage's start with so many segments, which are made in an order that is not that of their numbers. */
static uint64_t scan_ns(unsigned int count)
{
	const unsigned int stride = 7919; /* a prime that divides no `count` */
	uint64_t before;

	folder_begin(&logs);
	folder_put(&logs, "a/start/manifest.json", manifest_text);
	folder_put(&logs, "a/start/fs/fs_000000.csv.gz", "x");
	for (unsigned int i = 1; i < count; i++)
		ck_assert_int_eq(mknodat(logs.fd, path_of("a", i * stride % count, ".gz"), S_IFREG | 0600, 0), 0);
	before = cpu_ns();
	ck_assert_int_eq(storage_new(logs.path, &own, &(struct storage_limits){ 0 }, NULL, &storage), 0);
	before = cpu_ns() - before;
	storage_free(storage);
	folder_end(&logs);
	return before;
}

/* So many segments as the week of a busy machine leaves do not hold up the daemon's start. */
START_TEST(takes_time_by_the_number_of_segments)
{
	uint64_t few = scan_ns(3000), many = scan_ns(18000);

	ck_assert_msg(many < 15 * few, "%llu ns for 3000, %llu for 18000", (unsigned long long)few,
		      (unsigned long long)many);
}
END_TEST

/* The order of the segments is that of their numbers, not that of the file system. */
START_TEST(goes_by_numbers)
{
	enum { COUNT = 50 };

	begin(0, 0);
	storage_free(storage);
	folder_put(&logs, "a/start/manifest.json", manifest_text);
	for (unsigned int i = 0; i < COUNT; i++) {
		folder_put(&logs, path_of("a", (i * 7 + 3) % COUNT + 1, ".gz"), "");
		write_file(path_of("a", (i * 7 + 3) % COUNT + 1, ".gz"), SIZE);
	}
	ck_assert_int_eq(storage_new(logs.path, &own, &(struct storage_limits){ .max_use = (COUNT + 1) * SIZE }, NULL,
				     &storage),
			 0);
	trace = add_trace("b", &(struct trace_config){ 0 });
	for (unsigned int i = 1; i <= COUNT; i++) {
		ck_assert_int_eq(trace_take(trace, SIZE, TRACE_ROOM_OLDEST), 0);
		for (unsigned int number = 1; number <= COUNT; number++)
			ck_assert_int_eq(has("a", number, ".gz"), number > i);
	}
	end();
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, takes_time_by_the_number_of_segments);
	tcase_add_test(tests, goes_by_numbers);
	tcase_add_test(tests, takes_up_what_is_there);
	tcase_add_test(tests, removes_a_table_without_rows);
	tcase_add_test(tests, takes_up_what_was_recovered);
}

int main(void)
{
	return run_suite("storage_scan", add);
}
