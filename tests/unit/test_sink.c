// SPDX-License-Identifier: GPL-2.0-or-later
#include "sink.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

#include "folder.h"
#include "suite.h"

static struct folder folder;
static struct sink sink;
static uint64_t rows;

static void begin(void)
{
	folder_begin(&folder);
	rows = 0;
	ck_assert_int_eq(sink_init(&sink, folder.fd, IOTR_VFS), 0);
}

static void end(void)
{
	sink_done(&sink);
	folder_end(&folder);
}

static void add_row(void)
{
	char *line = sink_reserve(&sink, 200);
	int size = snprintf(line, 200, "%llu,some text of a row,%*s\n", (unsigned long long)rows,
			    (int)(rows % 60), "");

	sink_commit(&sink, (size_t)size, 1000 + rows++);
}

static void add_rows(unsigned int count)
{
	while (count--)
		add_row();
}

static void hash_all(void)
{
	while (sink_hash(&sink))
		;
}

/* What sha256sum(1) says of the file is what the segment says. */
static void check_hash(const char *path, const struct segment *segment)
{
	char command[256], sum[65] = "";
	FILE *pipe;

	snprintf(command, sizeof(command), "sha256sum %s/%s", folder.path, path);
	pipe = popen(command, "re");
	ck_assert_ptr_nonnull(pipe);
	ck_assert_int_eq(fscanf(pipe, "%64s", sum), 1);
	pclose(pipe);
	ck_assert_str_eq(segment->sha256, sum);
}

START_TEST(begins_with_a_header)
{
	begin();
	ck_assert_uint_eq(folder_lines(&folder, "fs/fs_000001.csv.part"), 1);
	ck_assert_int_eq(sink_close(&sink), 0);
	ck_assert_uint_eq(folder_lines(&folder, "fs/fs_000001.csv"), 1);
	ck_assert(!folder_has(&folder, "fs/fs_000001.csv.part"));
	hash_all();
	check_hash("fs/fs_000001.csv", sink.segment);
	end();
}
END_TEST

START_TEST(writes_all_rows)
{
	struct stat status;

	begin();
	add_rows(20000);
	ck_assert_int_eq(sink_flush(&sink), 0);
	hash_all();
	ck_assert_uint_gt(sink.segment->hashed, 0);
	add_rows(20000);
	ck_assert_int_eq(sink_close(&sink), 0);
	hash_all();
	ck_assert_uint_eq(folder_lines(&folder, "fs/fs_000001.csv"), 40001);
	ck_assert_uint_eq(sink.written, 40000);
	ck_assert_uint_eq(sink.lost, 0);
	ck_assert_uint_eq(sink.segment->rows, 40000);
	ck_assert_uint_eq(sink.segment->first_ns, 1000);
	ck_assert_uint_eq(sink.segment->last_ns, 40999);
	ck_assert_int_eq(fstatat(folder.fd, "fs/fs_000001.csv", &status, 0), 0);
	ck_assert_uint_eq(sink.segment->bytes, (uint64_t)status.st_size);
	check_hash("fs/fs_000001.csv", sink.segment);
	end();
}
END_TEST

START_TEST(rotates)
{
	const struct segment *closed;

	begin();
	ck_assert_int_eq(sink_rotate(&sink, &closed), 0);
	ck_assert_ptr_null(closed);
	ck_assert_uint_eq(sink.segment_count, 1);
	add_rows(10);
	ck_assert_int_eq(sink_rotate(&sink, &closed), 0);
	ck_assert_str_eq(closed->name, "fs_000001.csv");
	ck_assert_uint_eq(closed->rows, 10);
	add_rows(5);
	ck_assert_int_eq(sink_close(&sink), 0);
	hash_all();
	ck_assert_uint_eq(folder_lines(&folder, "fs/fs_000001.csv"), 11);
	ck_assert_uint_eq(folder_lines(&folder, "fs/fs_000002.csv"), 6);
	check_hash("fs/fs_000001.csv", closed);
	check_hash("fs/fs_000002.csv", sink.segment);
	ck_assert_uint_eq(sink.written, 15);
	end();
}
END_TEST

/* No file may grow beyond `bytes`: to the writer that is a disk that is full. */
static void limit_files(rlim_t bytes)
{
	struct rlimit limit;

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = bytes;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

START_TEST(keeps_whole_rows_on_a_full_disk)
{
	begin();
	limit_files(100001);
	add_rows(3000);
	ck_assert_int_eq(sink_flush(&sink), -EFBIG);
	ck_assert_int_eq(sink.error, -EFBIG);
	ck_assert_uint_gt(sink.written, 1000);
	ck_assert_uint_lt(sink.written, 3000);
	ck_assert_uint_eq(folder_lines(&folder, "fs/fs_000001.csv.part"), sink.written + 1);
	ck_assert_uint_eq(sink.lost, 0);
	add_rows(20000);
	ck_assert_uint_gt(sink.lost, 10000);
	ck_assert_int_eq(sink_close(&sink), -EFBIG);
	ck_assert_uint_eq(sink.written + sink.lost, rows);
	ck_assert_uint_eq(sink.segment->rows, sink.written);
	hash_all();
	ck_assert_uint_eq(folder_lines(&folder, "fs/fs_000001.csv"), sink.written + 1);
	check_hash("fs/fs_000001.csv", sink.segment);
	end();
}
END_TEST

START_TEST(goes_on_when_there_is_room)
{
	begin();
	limit_files(50001);
	add_rows(2000);
	ck_assert_int_eq(sink_flush(&sink), -EFBIG);
	limit_files(RLIM_INFINITY);
	ck_assert_int_eq(sink_flush(&sink), 0);
	ck_assert_int_eq(sink.error, 0);
	ck_assert_uint_eq(sink.written, 2000);
	add_rows(10);
	ck_assert_int_eq(sink_close(&sink), 0);
	ck_assert_uint_eq(sink.lost, 0);
	ck_assert_uint_eq(folder_lines(&folder, "fs/fs_000001.csv"), 2011);
	end();
}
END_TEST

START_TEST(stays_with_its_segment_when_it_cannot_rotate)
{
	const struct segment *closed;

	begin();
	add_rows(10);
	sink_flush(&sink);
	limit_files(20);
	ck_assert_int_eq(sink_rotate(&sink, &closed), -EFBIG);
	ck_assert_ptr_null(closed);
	ck_assert(!folder_has(&folder, "fs/fs_000002.csv.part"));
	limit_files(RLIM_INFINITY);
	add_rows(10);
	ck_assert_int_eq(sink_rotate(&sink, &closed), 0);
	ck_assert_uint_eq(closed->rows, 20);
	ck_assert_str_eq(sink.segment->name, "fs_000002.csv");
	end();
}
END_TEST

START_TEST(follows_no_link)
{
	struct sink other;

	folder_begin(&folder);
	ck_assert_int_eq(symlinkat("/tmp", folder.fd, "fs"), 0);
	ck_assert_int_eq(sink_init(&other, folder.fd, IOTR_VFS), -EEXIST);
	sink_done(&other);
	folder_end(&folder);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, begins_with_a_header);
	tcase_add_test(tests, writes_all_rows);
	tcase_add_test(tests, rotates);
	tcase_add_test(tests, keeps_whole_rows_on_a_full_disk);
	tcase_add_test(tests, goes_on_when_there_is_room);
	tcase_add_test(tests, stays_with_its_segment_when_it_cannot_rotate);
	tcase_add_test(tests, follows_no_link);
}

int main(void)
{
	return run_suite("sink", add);
}
