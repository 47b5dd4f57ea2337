// SPDX-License-Identifier: GPL-2.0-or-later
#include "schema.h"
#include "writer_rig.h"

START_TEST(writes_sessions)
{
	struct writer_paths paths;
	char path[256];

	begin();
	ck_assert(folder_has(&folder, "fs/fs_000001.csv.part"));
	ck_assert(folder_has(&folder, "ds/ds_000001.csv.part"));
	ck_assert(folder_has(&folder, "manifest.json"));
	send_vfs(1000);
	send_block();
	router_detach(router, 5);
	ck_assert_int_eq(writer_stop(writer, "stopped", &paths), 0);
	snprintf(path, sizeof(path), "%s/fs/fs_000001.csv", folder.path);
	ck_assert_str_eq(paths.paths[IOTR_VFS], path);
	ck_assert_ptr_nonnull(paths.paths[IOTR_BLOCK]);
	ck_assert_uint_eq(folder_lines(&folder, "fs/fs_000001.csv"), 1001);
	ck_assert_uint_eq(folder_lines(&folder, "ds/ds_000001.csv"), 2);
	check_balance(IOTR_VFS);
	check_balance(IOTR_BLOCK);
	ck_assert_uint_eq(counts_of(IOTR_VFS).written, 1000);
	ck_assert_uint_gt(writer_cpu_ns(writer), 0);
	writer_paths_done(&paths);
	ck_assert_int_eq(writer_stop(writer, "again", NULL), 0);
	end();
}
END_TEST

START_TEST(tells_its_manifest)
{
	struct json_object *manifest;

	begin();
	manifest = read_manifest();
	ck_assert_str_eq(text_at(manifest, "/state"), "running");
	ck_assert_str_eq(text_at(manifest, "/segments/0/path"), "fs/fs_000001.csv.part");
	json_object_put(manifest);
	send_vfs(10);
	router_detach(router, 5);
	writer_report(writer, IOTR_VFS,
		      &(struct writer_probes){ .emitted = 17, .ring = 4, .unmatched = 3, .missed = 5,
						  .unfollowed = 6 });
	writer_report(writer, IOTR_BLOCK, &(struct writer_probes){ .forgotten = 7 });
	ck_assert_int_eq(writer_stop(writer, "duration", NULL), 0);
	manifest = read_manifest();
	ck_assert_uint_eq(number_at(manifest, "/schema_version"), 3);
	ck_assert_str_eq(text_at(manifest, "/iotracer_version"), IOTRACER_VERSION);
	ck_assert_str_eq(text_at(manifest, "/session"), "test");
	ck_assert_str_eq(text_at(manifest, "/level"), "function");
	ck_assert_uint_eq(number_at(manifest, "/owner_uid"), 42);
	ck_assert_str_eq(text_at(manifest, "/state"), "ended");
	ck_assert_str_eq(text_at(manifest, "/reason"), "duration");
	ck_assert_uint_eq(number_at(manifest, "/definition/pid/1"), 2);
	ck_assert_str_eq(text_at(manifest, "/hooks/vfs/READ"), "sys_enter");
	ck_assert_uint_gt(strlen(text_at(manifest, "/host/kernel")), 0);
	ck_assert_uint_gt(number_at(manifest, "/clock/start/mono_ns"), 0);
	ck_assert_uint_gt(number_at(manifest, "/clock/last/realtime_offset_ns"), 0);
	ck_assert_str_eq(text_at(manifest, "/streams/vfs/columns/0/name"), "timestamp");
	ck_assert_str_eq(text_at(manifest, "/streams/vfs/columns/6/unit"), "bytes");
	ck_assert_uint_eq(number_at(manifest, "/streams/vfs/emitted"), 17);
	ck_assert_uint_eq(number_at(manifest, "/streams/vfs/received"), 10);
	ck_assert_uint_eq(number_at(manifest, "/streams/vfs/written"), 10);
	ck_assert_uint_eq(number_at(manifest, "/streams/vfs/lost/ring"), 4);
	ck_assert_uint_eq(number_at(manifest, "/streams/vfs/lost/unmatched"), 3);
	ck_assert_uint_eq(number_at(manifest, "/streams/vfs/missed"), 5);
	ck_assert_uint_eq(number_at(manifest, "/streams/vfs/unfollowed"), 6);
	ck_assert_uint_eq(number_at(manifest, "/streams/block/forgotten"), 7);
	ck_assert_uint_eq(number_at(manifest, "/streams/vfs/lost/queue"), 0);
	ck_assert_uint_eq(number_at(manifest, "/streams/vfs/lost/disk"), 0);
	ck_assert_str_eq(text_at(manifest, "/segments/0/stream"), "vfs");
	ck_assert_str_eq(text_at(manifest, "/segments/0/path"), "fs/fs_000001.csv");
	ck_assert_uint_eq(number_at(manifest, "/segments/0/rows"), 10);
	ck_assert_uint_eq(number_at(manifest, "/segments/0/first_mono_ns"), 1000000000);
	ck_assert_uint_eq(number_at(manifest, "/segments/0/last_mono_ns"), 1000000009);
	ck_assert_uint_eq(strlen(text_at(manifest, "/segments/0/xxh128")), 32);
	ck_assert_uint_eq(number_at(manifest, "/segments/1/rows"), 0);
	json_object_put(manifest);
	end();
}
END_TEST

START_TEST(rotates_all_streams_at_once)
{
	struct writer_paths paths;
	struct json_object *manifest;

	begin();
	ck_assert_int_eq(writer_rotate(writer, &paths), 0);
	ck_assert_ptr_null(paths.paths[IOTR_VFS]);
	for (int i = 0; i < 3; i++) {
		send_vfs(100);
		while (counts_of(IOTR_VFS).written < 100U * (unsigned int)(i + 1))
			usleep(1000);
		ck_assert_int_eq(writer_rotate(writer, &paths), 0);
		ck_assert_ptr_nonnull(paths.paths[IOTR_VFS]);
		ck_assert_ptr_null(paths.paths[IOTR_BLOCK]);
		writer_paths_done(&paths);
	}
	ck_assert_uint_eq(counts_of(IOTR_VFS).segments, 3);
	ck_assert_uint_eq(counts_of(IOTR_BLOCK).segments, 1);
	manifest = read_manifest();
	ck_assert_uint_eq(number_at(manifest, "/segments/0/rows"), 100);
	ck_assert_str_eq(text_at(manifest, "/segments/0/state"), "closed");
	ck_assert_uint_eq(strlen(text_at(manifest, "/segments/0/xxh128")), 32);
	json_object_put(manifest);
	router_detach(router, 5);
	ck_assert_int_eq(writer_stop(writer, "stopped", NULL), 0);
	ck_assert_uint_eq(folder_lines(&folder, "fs/fs_000003.csv"), 101);
	ck_assert(!folder_has(&folder, "fs/fs_000004.csv"));
	ck_assert_int_eq(writer_rotate(writer, &paths), -ESHUTDOWN);
	end();
}
END_TEST

START_TEST(shows_quiet_streams_soon)
{
	begin();
	send_block();
	for (int i = 0; i < 100 && !counts_of(IOTR_BLOCK).written; i++)
		usleep(10000);
	ck_assert_uint_eq(counts_of(IOTR_BLOCK).written, 1);
	ck_assert_uint_eq(folder_lines(&folder, "ds/ds_000001.csv.part"), 2);
	router_detach(router, 5);
	end();
}
END_TEST

START_TEST(counts_a_full_queue)
{
	begin_with(BOTH, 1);
	for (int i = 0; i < 20; i++)
		send_vfs(20000);
	router_detach(router, 5);
	ck_assert_int_eq(writer_stop(writer, "stopped", NULL), 0);
	ck_assert_uint_eq(counts_of(IOTR_VFS).received, 400000);
	ck_assert_uint_gt(counts_of(IOTR_VFS).lost_queue, 0);
	check_balance(IOTR_VFS);
	ck_assert_uint_eq(folder_lines(&folder, "fs/fs_000001.csv"),
			  counts_of(IOTR_VFS).written + 1);
	end();
}
END_TEST

START_TEST(counts_a_full_disk)
{
	struct rlimit limit = { 1000000, RLIM_INFINITY }, none = { RLIM_INFINITY, RLIM_INFINITY };

	begin();
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	send_vfs(50000);
	router_detach(router, 5);
	writer_stop(writer, "stopped", NULL);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &none), 0);
	ck_assert_uint_gt(counts_of(IOTR_VFS).lost_disk, 0);
	ck_assert_int_eq(counts_of(IOTR_VFS).error, -EFBIG);
	check_balance(IOTR_VFS);
	ck_assert_uint_eq(folder_lines(&folder, "fs/fs_000001.csv"),
			  counts_of(IOTR_VFS).written + 1);
	end();
}
END_TEST

START_TEST(ignores_what_is_not_its_own)
{
	struct iotr_vfs_record record = vfs_record(1);
	struct router_counts counts;

	begin_with(1 << IOTR_VFS, 0);
	send_block();
	router_begin(router);
	record.head.sessions = ~(1ULL << 5);
	send(&record, sizeof(record));
	send(&record, sizeof(record) - 8);
	record.head.stream = 200;
	send(&record, sizeof(record));
	router_end(router);
	router_detach(router, 5);
	send_vfs(5);
	ck_assert_int_eq(writer_stop(writer, "stopped", NULL), 0);
	ck_assert_uint_eq(counts_of(IOTR_VFS).received, 0);
	ck_assert_uint_eq(counts_of(IOTR_BLOCK).received, 0);
	router_counts(router, &counts);
	ck_assert_uint_eq(counts.malformed, 2);
	ck_assert_uint_eq(counts.rows, 9);
	end();
}
END_TEST

START_TEST(resolves_names)
{
	struct iotr_vfs_record record = vfs_record(1);
	struct router_counts counts;
	char *text;

	begin();
	router_begin(router);
	record.file.name = 50;
	send(&record, sizeof(record));
	ck_assert_uint_eq(drains, 1);
	send(&record, sizeof(record));
	ck_assert_uint_eq(drains, 1);
	record.file.name = 51;
	send(&record, sizeof(record));
	ck_assert_uint_eq(drains, 2);
	record.head.operation = IOTR_VFS_RENAME;
	record.file.name = 50;
	record.name2 = 50;
	send(&record, sizeof(record));
	router_end(router);
	send_block();
	router_detach(router, 5);
	ck_assert_int_eq(writer_stop(writer, "stopped", NULL), 0);
	router_counts(router, &counts);
	ck_assert_uint_eq(counts.names_missing, 1);
	text = folder_read(&folder, "fs/fs_000001.csv", NULL);
	ck_assert_ptr_nonnull(strstr(text, ",test,/late,1,2,"));
	ck_assert_ptr_nonnull(strstr(text, ",test,,1,2,"));
	ck_assert_ptr_nonnull(strstr(text, ",test,/late -> /late,1,2,"));
	free(text);
	text = folder_read(&folder, "ds/ds_000001.csv", NULL);
	ck_assert_ptr_nonnull(strstr(text, ",50,/late,"));
	free(text);
	end();
}
END_TEST

/* A text has a NUL behind it where the line in the file has a comma or its end, and none of these needs quotes. */
static void tap(enum iotr_stream stream, const char *fields, size_t size, void *userdata)
{
	struct tapped *tapped = userdata;
	size_t columns = 0;

	ck_assert_int_eq(stream, IOTR_VFS);
	for (size_t i = 0; i < size; i++)
		columns += !fields[i];
	ck_assert_int_eq(fields[size - 1], '\0');
	ck_assert_uint_eq(columns, iotr_schemas[stream].column_count);
	tapped->rows++;
	tapped->bytes += size;
}

START_TEST(taps_rows)
{
	struct tapped tapped = { 0 };

	begin();
	writer_tap_set(writer, tap, &tapped);
	send_vfs(100);
	for (int i = 0; i < 500 && tapped.rows < 100; i++)
		usleep(10000);
	ck_assert_uint_eq(tapped.rows, 100);
	writer_tap_set(writer, NULL, NULL);
	send_vfs(100);
	router_detach(router, 5);
	ck_assert_int_eq(writer_stop(writer, "stopped", NULL), 0);
	ck_assert_uint_eq(tapped.rows, 100);
	ck_assert_uint_eq(counts_of(IOTR_VFS).bytes, 2 * tapped.bytes);
	end();
}
END_TEST

static _Atomic bool feeding;

/* A drain that never ends. */
static void *feed(void *argument)
{
	struct iotr_vfs_record record = vfs_record(1);

	(void)argument;
	router_begin(router);
	for (uint64_t i = 0; feeding; i++) {
		record.head.start_ns = i;
		router_row(router, &record.head, sizeof(record));
	}
	router_end(router);
	return NULL;
}

START_TEST(detaches_from_an_endless_drain)
{
	struct writer_paths paths;
	pthread_t thread;

	begin();
	feeding = true;
	ck_assert_int_eq(pthread_create(&thread, NULL, feed, NULL), 0);
	ck_assert_int_eq(router_attach(router, 5, writer), -EBUSY);
	for (int i = 0; i < 20; i++) {
		router_detach(router, 5);
		ck_assert_int_eq(router_attach(router, 5, writer), 0);
		usleep(1000);
	}
	ck_assert_int_eq(writer_rotate(writer, &paths), 0);
	writer_paths_done(&paths);
	router_detach(router, 5);
	ck_assert_int_eq(writer_stop(writer, "stopped", NULL), 0);
	check_balance(IOTR_VFS);
	ck_assert_uint_gt(counts_of(IOTR_VFS).received, 0);
	feeding = false;
	pthread_join(thread, NULL);
	end();
}
END_TEST

START_TEST(refuses_a_folder_in_use)
{
	struct writer_config config = { .streams = BOTH };
	struct writer *other;

	begin();
	config.output = folder.path;
	config.output_fd = folder.fd;
	ck_assert_int_eq(writer_new(&config, &other), -EEXIST);
	router_detach(router, 5);
	end();
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, writes_sessions);
	tcase_add_test(tests, tells_its_manifest);
	tcase_add_test(tests, rotates_all_streams_at_once);
	tcase_add_test(tests, shows_quiet_streams_soon);
	tcase_add_test(tests, counts_a_full_queue);
	tcase_add_test(tests, counts_a_full_disk);
	tcase_add_test(tests, ignores_what_is_not_its_own);
	tcase_add_test(tests, resolves_names);
	tcase_add_test(tests, taps_rows);
	tcase_add_test(tests, detaches_from_an_endless_drain);
	tcase_add_test(tests, refuses_a_folder_in_use);
}

int main(void)
{
	return run_suite("writer", add);
}
