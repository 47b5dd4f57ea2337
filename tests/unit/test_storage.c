// SPDX-License-Identifier: GPL-2.0-or-later
/* Limits of what is kept, with real files and the real thread. */
#include "storage_rig.h"

#include <errno.h>

#include "cgroups/file.h"
#include "cgroups/list.h"
#include "storage/manifest_file.h"

START_TEST(removes_the_oldest_for_the_newest)
{
	struct trace_change change;

	begin(0, 0);
	trace = add_trace("a", &(struct trace_config){ .keep_size = 3 * SIZE + 100 });
	for (unsigned int i = 1; i <= 5; i++) {
		ck_assert_int_eq(add_segment(trace, "a", i), 0);
		ck_assert_uint_le(used(trace), 3 * SIZE + 100);
	}
	ck_assert(!has("a", 1, "") && !has("a", 2, ""));
	ck_assert(has("a", 3, "") && has("a", 4, "") && has("a", 5, ""));
	for (unsigned int i = 1; i <= 2; i++) {
		ck_assert(trace_next_change(trace, &change));
		ck_assert(change.removed && change.stream == IOTR_VFS && change.number == i);
	}
	ck_assert(!trace_next_change(trace, &change));
	end();
}
END_TEST

START_TEST(refuses_what_fits_nowhere)
{
	begin(0, 0);
	trace = add_trace("a", &(struct trace_config){ .keep_size = SIZE });
	ck_assert_int_eq(trace_take(trace, SIZE + 1, TRACE_ROOM_OLDEST), -EDQUOT);
	ck_assert_int_eq(trace_take(trace, SIZE, TRACE_ROOM_OLDEST), 0); /* an open file */
	ck_assert_int_eq(trace_take(trace, 1, TRACE_ROOM_OLDEST), -EDQUOT);
	trace_settle(trace, SIZE, 10);
	ck_assert_int_eq(trace_take(trace, SIZE - 10, TRACE_ROOM_OLDEST), 0);
	trace_settle(trace, SIZE - 10, 0);
	ck_assert_uint_eq(used(trace), 10);
	trace_give(trace, 10);
	ck_assert_uint_eq(used(trace), 0);
	end();
}
END_TEST

START_TEST(removes_nothing_where_it_must_not)
{
	begin(0, 0);
	trace = add_trace("a", &(struct trace_config){ .keep_size = SIZE });
	ck_assert_int_eq(add_segment(trace, "a", 1), 0);
	ck_assert_int_eq(trace_take(trace, 1, TRACE_ROOM_NONE), -EDQUOT);
	ck_assert(has("a", 1, ""));
	end();
}
END_TEST

static void write_table(struct cgroup_list *list, bool last, struct cgroup_file *file)
{
	int folder = openat(logs.fd, "a/start", O_RDONLY | O_DIRECTORY);

	ck_assert_int_eq(cgroup_file_write(folder, trace, list, NULL, last, file), 0);
	close(folder);
}

/* A table of cgroups leaves room to rows and manifests; what it lacks then is counted. */
START_TEST(bounds_the_table_of_cgroups)
{
	const uint64_t limit = 8 * SIZE;
	struct cgroup_list *list = cgroup_list_new();
	struct cgroup_file file;

	begin(limit, 0);
	trace = add_trace("a", &(struct trace_config){ 0 });
	for (uint64_t id = 1; id <= 10000; id++)
		cgroup_list_add(list, id, 1, 2, "/system.slice/some-quite-long-name-of-a-unit.service");
	write_table(list, false, &file);
	list->left_out = 0;
	write_table(list, true, &file);
	ck_assert_uint_le(file.bytes, limit / 8);
	ck_assert_uint_gt(file.bytes, limit / 8 - 200);
	ck_assert_uint_gt(file.rows, 0);
	ck_assert_uint_eq(list->left_out, 10000 - file.rows);
	ck_assert_str_ne(list->message, "");
	ck_assert_uint_eq(used(trace), file.bytes);
	cgroup_list_free(list);
	end();
}
END_TEST

/* A manifest takes room from rows, and where there are none any more, it is written all the same. */
START_TEST(writes_manifests_beyond_the_limit)
{
	struct json_object *manifest = json_tokener_parse("{ \"state\": \"running\" }");
	const struct manifest_segments none = { 0 };
	int folder;

	begin(2 * SIZE, 0);
	trace = add_trace("a", &(struct trace_config){ 0 });
	folder = openat(logs.fd, "a/start", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(trace_take(trace, SIZE, TRACE_ROOM_OLDEST), 0); /* an open file */
	trace_settle(trace, SIZE, SIZE);
	ck_assert_int_eq(add_segment(trace, "a", 1), 0);
	ck_assert_int_eq(manifest_file_replace(folder, trace, manifest, &none, NULL), 0);
	ck_assert(!has("a", 1, ""));
	ck_assert_uint_lt(used(trace), 2 * SIZE);
	trace_grown(trace, SIZE); /* a snapshot */
	ck_assert_int_eq(trace_take(trace, 1, TRACE_ROOM_OLDEST), -ENOSPC);
	json_object_object_add(manifest, "state", json_object_new_string("ended"));
	ck_assert_int_eq(manifest_file_replace(folder, trace, manifest, &none, NULL), 0);
	ck_assert_str_eq(manifest_at("a", "/state"), "ended");
	json_object_put(manifest);
	close(folder);
	end();
}
END_TEST

START_TEST(keeps_so_many_segments)
{
	begin(0, 0);
	trace = add_trace("a", &(struct trace_config){ .keep_segments = 2 });
	for (unsigned int i = 1; i <= 4; i++)
		ck_assert_int_eq(add_segment(trace, "a", i), 0);
	ck_assert(!has("a", 1, "") && !has("a", 2, ""));
	ck_assert(has("a", 3, "") && has("a", 4, ""));
	ck_assert_uint_eq(used(trace), 2 * SIZE);
	end();
}
END_TEST

START_TEST(takes_no_credit_for_what_others_removed)
{
	struct trace_change change;

	begin(0, 0);
	trace = add_trace("a", &(struct trace_config){ .keep_size = 2 * SIZE });
	ck_assert_int_eq(add_segment(trace, "a", 1), 0);
	ck_assert_int_eq(add_segment(trace, "a", 2), 0);
	unlinkat(logs.fd, path_of("a", 1, ""), 0); /* a user removes the file, as after shipping it elsewhere */
	ck_assert_int_eq(add_segment(trace, "a", 3), 0);
	ck_assert(has("a", 2, "") && has("a", 3, ""));
	ck_assert(!trace_next_change(trace, &change));
	end();
}
END_TEST

START_TEST(holds_the_limit_over_all_sessions)
{
	struct trace *other;

	begin(3 * SIZE + 4096, 0);
	write_file("unrelated", SIZE); /* not below a session */
	trace = add_trace("a", &(struct trace_config){ 0 });
	other = add_trace("b", &(struct trace_config){ 0 });
	write_manifest(trace, "a");
	ck_assert_int_eq(add_segment(trace, "a", 1), 0);
	ck_assert_int_eq(add_segment(trace, "a", 2), 0);
	ck_assert_int_eq(add_segment(other, "b", 1), 0);
	trace_free(trace);
	ck_assert_int_eq(add_segment(other, "b", 2), 0);
	ck_assert(!has("a", 1, "") && has("a", 2, "") && has("b", 1, ""));
	wait_manifest("a", "/segments/0/state", "removed");
	ck_assert_str_eq(manifest_at("a", "/streams/vfs/removed"), "15");
	ck_assert_str_eq(manifest_at("a", "/segments/1/state"), "closed");
	trace = other;
	end();
}
END_TEST

/* Folders of sessions that have nothing but their manifest left are removed, too. */
START_TEST(removes_emptied_folders_last)
{
	struct trace *other;
	int error = -1;

	begin(2 * SIZE, 0);
	trace = add_trace("a", &(struct trace_config){ 0 });
	write_manifest(trace, "a");
	ck_assert_int_eq(add_segment(trace, "a", 1), 0);
	trace_free(trace);
	other = add_trace("b", &(struct trace_config){ 0 });
	ck_assert_int_eq(add_segment(other, "b", 1), 0);
	ck_assert_int_eq(add_segment(other, "b", 2), 0);
	wait_manifest("a", "/segments/0/state", "removed");
	ck_assert(!has("b", 1, "") && has("b", 2, ""));
	/* The keeper has written the manifest, and may still have the folder open. */
	for (int i = 0; i < 500 && (error = trace_take(other, 2 * SIZE, TRACE_ROOM_OLDEST)) < 0; i++)
		poll(NULL, 0, 10);
	ck_assert_int_eq(error, 0);
	ck_assert(!folder_has(&logs, "a/start"));
	ck_assert(!has("b", 2, ""));
	trace = other;
	end();
}
END_TEST

START_TEST(trims_when_the_limit_falls)
{
	begin(0, 0);
	trace = add_trace("a", &(struct trace_config){ 0 });
	for (unsigned int i = 1; i <= 4; i++)
		ck_assert_int_eq(add_segment(trace, "a", i), 0);
	storage_set_limits(storage, &(struct storage_limits){ .max_use = 2 * SIZE });
	for (int i = 0; i < 500 && used(trace) > 2 * SIZE; i++)
		poll(NULL, 0, 10);
	ck_assert_uint_eq(used(trace), 2 * SIZE);
	ck_assert(!has("a", 2, "") && has("a", 3, ""));
	end();
}
END_TEST

/* Where other files fill the space that has to stay free, sessions replace their oldest segments, and do not grow. */
START_TEST(does_not_grow_into_what_is_to_stay_free)
{
	begin(0, 0);
	trace = add_trace("a", &(struct trace_config){ 0 });
	ck_assert_int_eq(add_segment(trace, "a", 1), 0);
	ck_assert_int_eq(add_segment(trace, "a", 2), 0);
	storage_set_limits(storage, &(struct storage_limits){ .keep_free = 1ULL << 60 });
	ck_assert_int_eq(add_segment(trace, "a", 3), 0);
	ck_assert(!has("a", 1, "") && has("a", 2, "") && has("a", 3, ""));
	ck_assert_int_eq(trace_take(trace, 3 * SIZE, TRACE_ROOM_OLDEST), -ENOSPC);
	end();
}
END_TEST

/* Files of another process count, and stay also when all segments had to be removed. */
START_TEST(counts_files_of_others)
{
	struct trace *other;

	begin(2 * SIZE, 0);
	trace = add_trace("a", &(struct trace_config){ 0 });
	ck_assert_int_eq(add_segment(trace, "a", 1), 0);
	ck_assert_int_eq(add_segment(trace, "a", 2), 0);
	write_file("a/start/snapshot", SIZE);
	trace_grown(trace, SIZE);
	for (int i = 0; i < 500 && used(trace) > 2 * SIZE; i++)
		poll(NULL, 0, 10);
	ck_assert(!has("a", 1, "") && has("a", 2, ""));
	trace_free(trace);
	other = add_trace("b", &(struct trace_config){ 0 });
	ck_assert_int_eq(add_segment(other, "b", 1), 0);
	ck_assert_int_eq(trace_take(other, SIZE + 1, TRACE_ROOM_OLDEST), -ENOSPC);
	ck_assert(!has("a", 2, "") && folder_has(&logs, "a/start/snapshot"));
	trace = other;
	end();
}
END_TEST

START_TEST(grants_everything_without_a_trace)
{
	ck_assert_int_eq(trace_take(NULL, UINT64_MAX, TRACE_ROOM_NONE), 0);
	ck_assert_uint_eq(trace_segment_limit(NULL), UINT64_MAX);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, removes_the_oldest_for_the_newest);
	tcase_add_test(tests, refuses_what_fits_nowhere);
	tcase_add_test(tests, removes_nothing_where_it_must_not);
	tcase_add_test(tests, bounds_the_table_of_cgroups);
	tcase_add_test(tests, writes_manifests_beyond_the_limit);
	tcase_add_test(tests, keeps_so_many_segments);
	tcase_add_test(tests, takes_no_credit_for_what_others_removed);
	tcase_add_test(tests, holds_the_limit_over_all_sessions);
	tcase_add_test(tests, removes_emptied_folders_last);
	tcase_add_test(tests, trims_when_the_limit_falls);
	tcase_add_test(tests, does_not_grow_into_what_is_to_stay_free);
	tcase_add_test(tests, counts_files_of_others);
	tcase_add_test(tests, grants_everything_without_a_trace);
}

int main(void)
{
	return run_suite("storage", add);
}
