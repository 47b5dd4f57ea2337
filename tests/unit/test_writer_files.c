// SPDX-License-Identifier: GPL-2.0-or-later
/* Limits, rotation, formats, and disks that are full or fail. */
#include "writer_rig.h"

#include <sys/eventfd.h>

#include "cgroups/file.h"
#include "cgroups/list.h"

/* ---- limits ---- */

static uint64_t size_of(const char *path)
{
	struct stat status;

	return fstatat(folder.fd, path, &status, 0) < 0 ? 0 : (uint64_t)status.st_size;
}

static void stop(void)
{
	router_detach(router, 5);
	ck_assert_int_eq(writer_stop(writer, "stopped", NULL), 0);
}

/* All rows were either written or refused. */
static void check_refused(uint64_t sent, uint64_t written)
{
	ck_assert_uint_eq(counts_of(IOTR_VFS).written + counts_of(IOTR_BLOCK).written, written);
	ck_assert_uint_eq(writer_refused(writer, IOTR_VFS) + writer_refused(writer, IOTR_BLOCK),
			  sent - written);
	check_balance(IOTR_VFS);
	check_balance(IOTR_BLOCK);
}

static const char *wait_for_limit(void)
{
	for (int i = 0; i < 1000 && !writer_limit(writer); i++)
		usleep(10000);
	return writer_limit(writer) ?: "none";
}

START_TEST(ends_after_so_many_rows)
{
	struct json_object *manifest;
	int notice = eventfd(0, EFD_NONBLOCK);
	eventfd_t value;

	begin_as((struct writer_config){ .streams = BOTH, .max_events = 1234, .notice = notice });
	send_vfs(700);
	send_block();
	ck_assert_ptr_null(writer_limit(writer));
	send_vfs(700);
	ck_assert_str_eq(wait_for_limit(), "max-events");
	ck_assert_int_eq(eventfd_read(notice, &value), 0);
	send_vfs(1000);
	router_detach(router, 5);
	writer_report(writer, IOTR_VFS, &(struct writer_probes){ .emitted = 2405, .ring = 5 });
	ck_assert_int_eq(writer_stop(writer, "max-events", NULL), 0);
	check_refused(2401, 1234);
	ck_assert_uint_eq(folder_lines(&folder, "fs/fs_000001.csv"), 1234);
	manifest = read_manifest();
	ck_assert_str_eq(text_at(manifest, "/reason"), "max-events");
	ck_assert_uint_eq(number_at(manifest, "/streams/vfs/emitted"), 1238);
	ck_assert_uint_eq(number_at(manifest, "/streams/vfs/written"), 1233);
	ck_assert_uint_eq(number_at(manifest, "/streams/vfs/received"), 1233);
	json_object_put(manifest);
	end();
	close(notice);
}
END_TEST

/* Exact to the byte: one more row would exceed the limit. All segments count. */
START_TEST(ends_before_it_is_too_large)
{
	uint64_t limit = 100000, size = 0, row;
	char path[64];

	begin_as((struct writer_config){ .streams = BOTH, .max_size = limit, .rotate_size = 9000 });
	send_block();
	for (int i = 0; i < 5; i++)
		send_vfs(1000);
	ck_assert_str_eq(wait_for_limit(), "max-size");
	stop();
	for (int i = 1; i < 20; i++) {
		snprintf(path, sizeof(path), "fs/fs_%06d.csv", i);
		ck_assert_uint_le(size_of(path), 9000);
		size += size_of(path);
	}
	size += size_of("ds/ds_000001.csv");
	ck_assert_uint_eq(counts_of(IOTR_BLOCK).segments, 1);
	row = (size_of("fs/fs_000002.csv") + 9) / (folder_lines(&folder, "fs/fs_000002.csv"));
	ck_assert_uint_le(size, limit);
	ck_assert_uint_gt(size + row + 300, limit);
	ck_assert_uint_gt(counts_of(IOTR_VFS).segments, 10);
	check_refused(5001, counts_of(IOTR_VFS).written + 1);
	end();
}
END_TEST

/* ---- rotation ---- */

/* Rows of all segments of a stream, each of which is within `most` bytes. */
static uint64_t rows_in(const char *prefix, uint64_t segments, uint64_t most)
{
	uint64_t found = 0;
	char path[64];

	for (uint64_t i = 1; i <= segments; i++) {
		snprintf(path, sizeof(path), "%s_%06llu.csv", prefix, (unsigned long long)i);
		ck_assert_uint_le(size_of(path), most);
		found += folder_lines(&folder, path) - 1;
	}
	return found;
}

START_TEST(rotates_by_size)
{
	begin_as((struct writer_config){ .streams = BOTH, .rotate_size = 70000 });
	for (int i = 0; i < 20; i++) {
		send_vfs(2000);
		send_block();
	}
	stop();
	ck_assert_uint_gt(counts_of(IOTR_VFS).segments, 40);
	ck_assert_uint_eq(rows_in("fs/fs", counts_of(IOTR_VFS).segments, 70000), 40000);
	ck_assert_uint_eq(rows_in("ds/ds", counts_of(IOTR_BLOCK).segments, 70000), 20);
	ck_assert_uint_le(counts_of(IOTR_BLOCK).segments, 20);
	ck_assert_uint_gt(counts_of(IOTR_BLOCK).segments, 10);
	end();
}
END_TEST

START_TEST(gives_a_long_row_a_segment)
{
	begin_as((struct writer_config){ .streams = BOTH, .rotate_size = 10 });
	send_vfs(3);
	stop();
	ck_assert_uint_eq(counts_of(IOTR_VFS).segments, 3);
	ck_assert_uint_eq(folder_lines(&folder, "fs/fs_000003.csv"), 2);
	end();
}
END_TEST

START_TEST(rotates_by_time)
{
	begin_as((struct writer_config){ .streams = BOTH, .rotate_interval_ns = 100000000 });
	usleep(250000);
	ck_assert_uint_eq(counts_of(IOTR_VFS).segments, 1);
	for (int i = 0; i < 3; i++) {
		send_vfs(10);
		for (int j = 0; j < 500 && !folder_has(&folder, "fs/fs_000001.csv"); j++)
			usleep(10000);
		usleep(250000);
	}
	stop();
	ck_assert_uint_eq(counts_of(IOTR_VFS).segments, 3);
	ck_assert_uint_eq(counts_of(IOTR_BLOCK).segments, 1);
	ck_assert_uint_eq(rows_in("fs/fs", 3, 100000), 30);
	end();
}
END_TEST

/* A rotation does not block: its handler is called when it is collected, in order. */
static unsigned int handled;

static void on_done(int result, const struct writer_paths *paths, void *userdata)
{
	ck_assert_int_eq(result, 0);
	ck_assert_ptr_nonnull(paths->paths[IOTR_VFS]);
	ck_assert_ptr_eq(userdata, (void *)(uintptr_t)handled);
	handled++;
}

START_TEST(does_not_make_wait)
{
	begin();
	send_vfs(10);
	for (int i = 0; i < 500 && counts_of(IOTR_VFS).written < 10; i++)
		usleep(10000);
	ck_assert_int_eq(writer_rotate_begin(writer, on_done, (void *)0), 0);
	ck_assert_uint_eq(handled, 0);
	for (int i = 0; i < 500 && !handled; i++) {
		usleep(10000);
		writer_collect(writer);
	}
	ck_assert_uint_eq(handled, 1);
	send_vfs(10);
	router_detach(router, 5);
	ck_assert_int_eq(writer_stop_begin(writer, "stopped", on_done, (void *)1), 0);
	ck_assert_int_eq(writer_rotate_begin(writer, on_done, NULL), -ESHUTDOWN);
	for (int i = 0; i < 500 && handled < 2; i++) {
		usleep(10000);
		writer_collect(writer);
	}
	ck_assert_uint_eq(handled, 2);
	for (int i = 0; i < 500 && !writer_finished(writer); i++)
		usleep(10000);
	ck_assert(writer_finished(writer));
	ck_assert_uint_eq(folder_lines(&folder, "fs/fs_000002.csv"), 11);
	end();
}
END_TEST

/* A segment for each row: the manifest has them all, and is not written anew for each. */
START_TEST(keeps_the_manifest_cheap)
{
	struct json_object *manifest;

	begin_as((struct writer_config){ .streams = 1 << IOTR_VFS, .rotate_size = 1 });
	send_vfs(1000);
	stop();
	ck_assert_uint_eq(counts_of(IOTR_VFS).written, 1000);
	manifest = read_manifest();
	ck_assert_uint_eq(json_object_array_length(at(manifest, "/segments")), 1000);
	ck_assert_uint_eq(strlen(text_at(manifest, "/segments/999/xxh128")), 32);
	ck_assert_uint_lt(writer_cpu_ns(writer), 2000000000);
	json_object_put(manifest);
	end();
}
END_TEST

/* ---- disks ---- */

static void limit_files(rlim_t bytes)
{
	struct rlimit limit = { bytes, RLIM_INFINITY };

	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* Segments do not exceed their size while the disk is full; the manifest has all errors and losses. */
START_TEST(rotates_around_a_full_disk)
{
	struct json_object *errors;

	begin_as((struct writer_config){ .streams = BOTH, .rotate_size = 300000 });
	limit_files(200000);
	for (int i = 0; i < 20; i++)
		send_vfs(1000);
	for (int i = 0; i < 500 && !counts_of(IOTR_VFS).lost_disk; i++)
		usleep(10000);
	errors = writer_disk_errors(writer);
	ck_assert_uint_eq(json_object_array_length(errors), 1);
	ck_assert_ptr_null(at(errors, "/0/to"));
	json_object_put(errors);
	limit_files(RLIM_INFINITY);
	for (int i = 0; i < 500 && counts_of(IOTR_VFS).error; i++)
		usleep(10000);
	send_vfs(5000);
	stop();
	ck_assert_uint_eq(rows_in("fs/fs", counts_of(IOTR_VFS).segments, 300000),
			  counts_of(IOTR_VFS).written);
	check_balance(IOTR_VFS);
	errors = writer_disk_errors(writer);
	ck_assert_uint_eq(json_object_array_length(errors), 1);
	ck_assert_str_eq(text_at(errors, "/0/error"), strerror(EFBIG));
	ck_assert_uint_eq(number_at(errors, "/0/lost"), counts_of(IOTR_VFS).lost_disk);
	ck_assert_str_gt(text_at(errors, "/0/to"), text_at(errors, "/0/from"));
	json_object_put(errors);
	end();
}
END_TEST

static void on_done_badly(int result, const struct writer_paths *paths, void *userdata)
{
	(void)userdata;
	ck_assert_int_eq(result, -EFBIG);
	ck_assert_ptr_nonnull(paths->paths[IOTR_VFS]);
	handled++;
}

/* Also after the session's end the manifest is tried again until there is space. */
START_TEST(writes_the_manifest_when_there_is_room)
{
	struct json_object *manifest;
	uint64_t cpu_ns;

	begin_as((struct writer_config){ .streams = BOTH, .rotate_interval_ns = 100000000 });
	send_vfs(10);
	router_detach(router, 5);
	for (int i = 0; i < 500 && counts_of(IOTR_VFS).written < 10; i++)
		usleep(10000);
	limit_files(100);
	handled = 1;
	ck_assert_int_eq(writer_stop_begin(writer, "stopped", on_done_badly, NULL), 0);
	for (int i = 0; i < 500 && handled == 1; i++) {
		usleep(10000);
		writer_collect(writer);
	}
	ck_assert_int_eq(writer_manifest_error(writer), -EFBIG);
	ck_assert(!writer_finished(writer));
	cpu_ns = writer_cpu_ns(writer);
	usleep(500000);
	cpu_ns = writer_cpu_ns(writer) - cpu_ns;
	limit_files(RLIM_INFINITY);
	ck_assert_uint_lt(cpu_ns, 100000000); /* the thread sleeps between tries */
	for (int i = 0; i < 500 && !writer_finished(writer); i++)
		usleep(10000);
	manifest = read_manifest();
	ck_assert_str_eq(text_at(manifest, "/state"), "ended");
	ck_assert_int_eq(writer_manifest_error(writer), 0);
	json_object_put(manifest);
	end();
}
END_TEST

static void on_cgroups(int result, const struct writer_paths *paths, void *userdata)
{
	(void)paths;
	*(int *)userdata = result;
}

/* The result of writing a table of so many cgroups. */
static int write_cgroups(unsigned int count, bool last)
{
	struct cgroup_list *list = cgroup_list_new();
	int result = 1;

	for (unsigned int id = 1; id <= count; id++)
		ck_assert_int_eq(cgroup_list_add(list, id, 1, 2, "/system.slice/some.service"), 0);
	ck_assert_int_eq(writer_cgroups(writer, list, last, on_cgroups, &result), 0);
	for (int i = 0; i < 500 && result == 1; i++) {
		usleep(10000);
		writer_collect(writer);
	}
	return result;
}

/* The last table of cgroups for which there was room gets its final name, and the manifest says what it lacks. */
START_TEST(keeps_the_table_of_cgroups_that_has_room)
{
	struct json_object *manifest;

	begin();
	ck_assert_int_eq(write_cgroups(2, false), 0);
	limit_files(4096);
	ck_assert_int_eq(write_cgroups(1000, true), -EFBIG);
	limit_files(RLIM_INFINITY);
	stop();
	ck_assert(!folder_has(&folder, CGROUPS_FOLDER "/" CGROUPS_NAME ".part"));
	ck_assert(!folder_has(&folder, CGROUPS_FOLDER "/" CGROUPS_NAME ".new.part"));
	ck_assert_uint_eq(folder_lines(&folder, CGROUPS_FOLDER "/" CGROUPS_NAME), 3);
	manifest = read_manifest();
	ck_assert_str_eq(text_at(manifest, "/snapshots/0/path"), CGROUPS_FOLDER "/" CGROUPS_NAME);
	ck_assert_uint_eq(number_at(manifest, "/snapshots/0/rows"), 2);
	ck_assert_uint_eq(number_at(manifest, "/snapshots/0/bytes"), size_of(CGROUPS_FOLDER "/" CGROUPS_NAME));
	ck_assert_str_eq(text_at(manifest, "/snapshots/0/complete"), "false");
	ck_assert_str_eq(text_at(manifest, "/snapshots/0/message"), strerror(EFBIG));
	json_object_put(manifest);
	end();
}
END_TEST

/* Nothing could ever be written of the table: there is none. */
START_TEST(has_no_table_of_cgroups_without_room)
{
	struct json_object *manifest;

	begin();
	limit_files(4096);
	ck_assert_int_eq(write_cgroups(1000, true), -EFBIG);
	limit_files(RLIM_INFINITY);
	stop();
	ck_assert(!folder_has(&folder, CGROUPS_FOLDER "/" CGROUPS_NAME));
	manifest = read_manifest();
	ck_assert_ptr_null(at(manifest, "/snapshots/0/path"));
	ck_assert_str_eq(text_at(manifest, "/snapshots/0/complete"), "false");
	json_object_put(manifest);
	end();
}
END_TEST

/* ---- formats and failures ---- */

/* `tail` gets texts, whatever format the files have. */
static void tap_fields(enum iotr_stream stream, const char *fields, size_t size, void *userdata)
{
	struct tapped *tapped = userdata;

	(void)stream;
	ck_assert_str_eq(fields + strlen(fields) + 1, "READ"); /* skips the timestamp */
	ck_assert_int_eq(fields[size - 1], '\0');
	tapped->rows++;
}

START_TEST(writes_json_lines)
{
	struct json_object *row, *manifest;
	struct tapped tapped = { 0 };
	char *text;

	begin_as((struct writer_config){ .streams = 1 << IOTR_VFS, .format = IOTR_FORMAT_JSONL });
	writer_tap_set(writer, tap_fields, &tapped);
	send_vfs(3);
	stop();
	ck_assert_uint_eq(tapped.rows, 3);
	ck_assert_uint_eq(folder_lines(&folder, "fs/fs_000001.jsonl"), 3);
	text = folder_read(&folder, "fs/fs_000001.jsonl", NULL);
	*strchr(text, '\n') = '\0';
	row = json_tokener_parse(text);
	ck_assert_ptr_nonnull(row);
	ck_assert_uint_eq(number_at(row, "/mono_ns"), 1000000000);
	json_object_put(row);
	free(text);
	manifest = read_manifest();
	ck_assert_str_eq(text_at(manifest, "/format"), "jsonl");
	ck_assert_str_eq(text_at(manifest, "/segments/0/path"), "fs/fs_000001.jsonl");
	json_object_put(manifest);
	end();
}
END_TEST

/* The folder of the second stream cannot be made: what was made for the first is removed again. */
START_TEST(leaves_nothing_when_it_fails)
{
	struct writer_config config = { .streams = BOTH };
	struct writer *other;

	folder_begin(&folder);
	ck_assert_int_eq(mkdirat(folder.fd, "ds", 0700), 0);
	config.output = folder.path;
	config.output_fd = folder.fd;
	ck_assert_int_eq(writer_new(&config, &other), -EEXIST);
	ck_assert(!folder_has(&folder, "fs"));
	ck_assert(folder_has(&folder, "ds"));
	ck_assert(!folder_has(&folder, "manifest.json"));
	folder_end(&folder);
}
END_TEST

static void note_discarded(int result, const struct writer_paths *paths, void *userdata)
{
	*(int *)userdata = result;
	for (size_t i = 0; i < IOTR_STREAM_COUNT; i++)
		ck_assert_ptr_null(paths->paths[i]);
}

/* A session that fails to start: its files are removed, and its folder, too, if it was made for it. */
static void discard(bool own_folder)
{
	int result = 1;

	begin_as((struct writer_config){ .streams = BOTH, .own_folder = own_folder });
	send_vfs(1000);
	router_detach(router, 5);
	ck_assert_int_eq(writer_discard_begin(writer, note_discarded, &result), 0);
	ck_assert_int_eq(writer_rotate_begin(writer, NULL, NULL), -ESHUTDOWN);
	writer_finish(writer);
	ck_assert_int_eq(result, 0);
	ck_assert(writer_finished(writer));
	ck_assert(!folder_has(&folder, "fs"));
	ck_assert(!folder_has(&folder, "ds"));
	ck_assert(!folder_has(&folder, "manifest.json"));
	ck_assert_int_eq(access(folder.path, F_OK), own_folder ? -1 : 0);
	if (own_folder)
		ck_assert_int_eq(mkdir(folder.path, 0700), 0);
	end();
}

START_TEST(discards_all)
{
	discard(false);
	discard(true);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, ends_after_so_many_rows);
	tcase_add_test(tests, ends_before_it_is_too_large);
	tcase_add_test(tests, rotates_by_size);
	tcase_add_test(tests, gives_a_long_row_a_segment);
	tcase_add_test(tests, rotates_by_time);
	tcase_add_test(tests, does_not_make_wait);
	tcase_add_test(tests, keeps_the_manifest_cheap);
	tcase_add_test(tests, rotates_around_a_full_disk);
	tcase_add_test(tests, writes_the_manifest_when_there_is_room);
	tcase_add_test(tests, keeps_the_table_of_cgroups_that_has_room);
	tcase_add_test(tests, has_no_table_of_cgroups_without_room);
	tcase_add_test(tests, writes_json_lines);
	tcase_add_test(tests, leaves_nothing_when_it_fails);
	tcase_add_test(tests, discards_all);
}

int main(void)
{
	return run_suite("writer_files", add);
}
