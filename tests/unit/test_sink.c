// SPDX-License-Identifier: GPL-2.0-or-later
#include "writer/sink.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

#include "folder.h"
#include "suite.h"

static struct folder folder;
static struct sink sink;
static struct extent extent;
static uint64_t rows;

static void begin(void)
{
	folder_begin(&folder);
	rows = 0;
	extent = (struct extent){ 0 };
	ck_assert_int_eq(sink_init(&sink, folder.fd, IOTR_VFS, IOTR_FORMAT_CSV, &extent, NULL), 0);
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

	sink_commit(&sink, (size_t)size, (struct sink_time){ 1000 + rows, 5000 + rows });
	rows++;
}

static void add_rows(unsigned int count)
{
	while (count--)
		add_row();
}

static struct segment *last(void)
{
	return TAILQ_LAST(&sink.segments, segment_list);
}

/* The XXH3-128 of the whole file, in one piece, is what the segment says. */
static void check_checksum(const char *path, const struct segment *segment)
{
	char sum[XXH128_HEX_SIZE];
	XXH128_hash_t hash;
	size_t size;
	char *text = folder_read(&folder, path, &size);

	hash = XXH3_128bits(text, size);
	snprintf(sum, sizeof(sum), "%016llx%016llx", (unsigned long long)hash.high64, (unsigned long long)hash.low64);
	ck_assert_str_eq(segment->xxh128, sum);
	ck_assert_uint_eq(segment->bytes, size);
	free(text);
}

START_TEST(begins_with_a_header)
{
	begin();
	ck_assert_uint_eq(folder_lines(&folder, "fs/fs_000001.csv.part"), 1);
	ck_assert_int_eq(sink_close(&sink), 0);
	ck_assert_uint_eq(folder_lines(&folder, "fs/fs_000001.csv"), 1);
	ck_assert(!folder_has(&folder, "fs/fs_000001.csv.part"));
	check_checksum("fs/fs_000001.csv", last());
	end();
}
END_TEST

START_TEST(writes_all_rows)
{
	struct stat status;

	begin();
	add_rows(20000);
	ck_assert_int_eq(sink_flush(&sink), 0);
	add_rows(20000);
	ck_assert_int_eq(sink_close(&sink), 0);
	ck_assert_uint_eq(folder_lines(&folder, "fs/fs_000001.csv"), 40001);
	ck_assert_uint_eq(sink.written, 40000);
	ck_assert_uint_eq(sink.lost, 0);
	ck_assert_uint_eq(last()->rows, 40000);
	ck_assert_uint_eq(last()->first_ns, 1000);
	ck_assert_uint_eq(last()->last_ns, 40999);
	ck_assert_uint_eq(last()->first_realtime_ns, 5000);
	ck_assert_uint_eq(last()->last_realtime_ns, 44999);
	ck_assert_int_eq(fstatat(folder.fd, "fs/fs_000001.csv", &status, 0), 0);
	ck_assert_uint_eq(last()->bytes, (uint64_t)status.st_size);
	ck_assert_uint_eq(extent.bytes, (uint64_t)status.st_size);
	ck_assert_uint_eq(extent.rows, 40000);
	check_checksum("fs/fs_000001.csv", last());
	end();
}
END_TEST

static uint64_t bytes_of(const char *path)
{
	struct stat status;

	ck_assert_int_eq(fstatat(folder.fd, path, &status, 0), 0);
	return (uint64_t)status.st_size;
}

/* A segment ends, and the next one begins with its first row. */
START_TEST(rotates)
{
	const struct segment *closed;

	begin();
	ck_assert_ptr_null(sink_cut(&sink));
	ck_assert_uint_eq(sink.segment_count, 1);
	add_rows(10);
	ck_assert_int_eq(sink_flush(&sink), 0);
	closed = sink_cut(&sink);
	ck_assert_str_eq(closed->name, "fs_000001.csv");
	ck_assert_uint_eq(closed->rows, 10);
	ck_assert(closed->closed);
	ck_assert_ptr_null(sink_cut(&sink));
	ck_assert(!folder_has(&folder, "fs/fs_000002.csv.part"));
	ck_assert_uint_eq(extent.bytes, bytes_of("fs/fs_000001.csv"));
	add_rows(5);
	ck_assert_int_eq(sink_close(&sink), 0);
	ck_assert_uint_eq(folder_lines(&folder, "fs/fs_000001.csv"), 11);
	ck_assert_uint_eq(folder_lines(&folder, "fs/fs_000002.csv"), 6);
	ck_assert_uint_eq(extent.bytes, bytes_of("fs/fs_000001.csv") + bytes_of("fs/fs_000002.csv"));
	check_checksum("fs/fs_000001.csv", closed);
	check_checksum("fs/fs_000002.csv", last());
	ck_assert_uint_eq(sink.written, 15);
	end();
}
END_TEST

/* Growth and free space are exact to the byte, before and after there is a file. */
START_TEST(measures)
{
	uint64_t header, size;

	begin();
	header = bytes_of("fs/fs_000001.csv.part");
	ck_assert_uint_eq(extent.bytes, header);
	ck_assert_uint_eq(sink_growth(&sink, 100), 100);
	ck_assert(sink_fits(&sink, 100, 1));
	add_rows(10);
	ck_assert(!sink_fits(&sink, 100, header + sink_unwritten(&sink) + 99));
	ck_assert(sink_fits(&sink, 100, header + sink_unwritten(&sink) + 100));
	sink_flush(&sink);
	size = bytes_of("fs/fs_000001.csv.part");
	ck_assert(!sink_fits(&sink, 100, size + 99));
	ck_assert(sink_fits(&sink, 100, size + 100));
	sink_cut(&sink);
	ck_assert_uint_eq(sink_growth(&sink, 100), header + 100);
	ck_assert(sink_fits(&sink, 100, 1));
	add_row();
	ck_assert_uint_eq(sink_growth(&sink, 100), 100);
	ck_assert(!sink_fits(&sink, 100, header + sink_unwritten(&sink) + 99));
	ck_assert(sink_fits(&sink, 100, header + sink_unwritten(&sink) + 100));
	sink_close(&sink);
	ck_assert_uint_eq(extent.bytes, size + bytes_of("fs/fs_000002.csv"));
	ck_assert_uint_eq(extent.rows, 11);
	end();
}
END_TEST

START_TEST(removes_its_files)
{
	begin();
	add_rows(10);
	sink_flush(&sink);
	sink_cut(&sink);
	add_rows(10);
	sink_flush(&sink);
	sink_remove(&sink, folder.fd);
	ck_assert(!folder_has(&folder, "fs"));
	end();
}
END_TEST

/* Limits the size of files to `bytes`, so that writes fail as on a full disk. */
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
	ck_assert_uint_eq(last()->rows, sink.written);
	ck_assert_uint_eq(extent.rows, sink.written);
	ck_assert_uint_eq(extent.bytes, bytes_of("fs/fs_000001.csv"));
	ck_assert_uint_eq(folder_lines(&folder, "fs/fs_000001.csv"), sink.written + 1);
	check_checksum("fs/fs_000001.csv", last());
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

/*
 * Rows that come faster than a flush go past the page cache in whole blocks, the others through it; in each mixture,
 * the file has every row once, in order.
 */
START_TEST(writes_past_the_cache_and_through_it)
{
	static const unsigned int bursts[] = { 1, 30000, 7, 90, 60000, 1, 1, 20000, 300, 45000 };
	uint64_t expected = 0;
	char line[4096]; /* the header is the longest */
	FILE *file;

	begin();
	for (size_t i = 0; i < sizeof(bursts) / sizeof(*bursts); i++) {
		add_rows(bursts[i]);
		ck_assert_int_eq(sink_flush(&sink), 0);
		ck_assert_uint_eq(sink.written, rows);
		ck_assert_uint_eq(sink_unwritten(&sink), 0);
		ck_assert_uint_eq(folder_lines(&folder, "fs/fs_000001.csv.part"), rows + 1);
	}
	ck_assert_int_eq(sink_close(&sink), 0);
	file = fdopen(openat(folder.fd, "fs/fs_000001.csv", O_RDONLY | O_CLOEXEC), "r");
	ck_assert_ptr_nonnull(fgets(line, sizeof(line), file));
	while (fgets(line, sizeof(line), file))
		ck_assert_uint_eq(strtoull(line, NULL, 10), expected++);
	ck_assert_uint_eq(expected, rows);
	fclose(file);
	check_checksum("fs/fs_000001.csv", last());
	end();
}
END_TEST

/* A row that is cut by the end of the last whole block is not counted before the rest of it is in the file. */
START_TEST(counts_whole_rows_of_whole_blocks)
{
	begin();
	add_row();
	ck_assert_int_eq(sink_flush(&sink), 0);
	while (sink.written == 1)
		add_row();
	ck_assert_uint_gt(sink_unwritten(&sink), 0);
	ck_assert_uint_eq(sink.written + sink.buffered_rows, rows);
	ck_assert_uint_eq(last()->rows, sink.written);
	ck_assert_uint_le(last()->bytes, bytes_of("fs/fs_000001.csv.part"));
	ck_assert_int_eq(sink_close(&sink), 0);
	ck_assert_uint_eq(sink.written, rows);
	ck_assert_uint_eq(last()->bytes, bytes_of("fs/fs_000001.csv"));
	check_checksum("fs/fs_000001.csv", last());
	end();
}
END_TEST

/* There is no space for a new file: rows wait, then are lost, until there is space. */
START_TEST(begins_a_segment_when_there_is_room)
{
	uint64_t bytes;

	begin();
	add_rows(10);
	sink_flush(&sink);
	ck_assert_ptr_nonnull(sink_cut(&sink));
	bytes = extent.bytes;
	limit_files(20);
	add_rows(10);
	ck_assert_int_eq(sink_flush(&sink), -EFBIG);
	ck_assert(!folder_has(&folder, "fs/fs_000002.csv.part"));
	ck_assert(!sink.was_full);
	add_rows(2 * SINK_BUFFER_SIZE / 40);
	ck_assert(sink.was_full);
	ck_assert_uint_gt(sink.lost, 0);
	limit_files(RLIM_INFINITY);
	ck_assert_int_eq(sink_flush(&sink), 0);
	ck_assert_uint_eq(sink.written + sink.lost, rows);
	ck_assert_uint_eq(extent.rows, sink.written);
	ck_assert_uint_eq(extent.bytes, bytes + bytes_of("fs/fs_000002.csv.part"));
	end();
}
END_TEST

/* A segment that cannot be renamed to its final name now is renamed later. */
START_TEST(closes_what_it_could_not)
{
	struct segment *first;

	begin();
	add_rows(10);
	sink_flush(&sink);
	ck_assert_int_eq(mkdirat(folder.fd, "fs/fs_000001.csv", 0700), 0);
	first = sink_cut(&sink);
	ck_assert(!first->closed);
	ck_assert_int_eq(sink.error, -EISDIR);
	add_rows(10);
	ck_assert_int_eq(sink_flush(&sink), -EISDIR);
	ck_assert_uint_eq(sink.written, 20);
	ck_assert_int_eq(unlinkat(folder.fd, "fs/fs_000001.csv", AT_REMOVEDIR), 0);
	ck_assert_int_eq(sink_flush(&sink), 0);
	ck_assert(first->closed);
	ck_assert_int_eq(sink_close(&sink), 0);
	ck_assert_uint_eq(folder_lines(&folder, "fs/fs_000001.csv"), 11);
	ck_assert_uint_eq(folder_lines(&folder, "fs/fs_000002.csv"), 11);
	end();
}
END_TEST

START_TEST(follows_no_link)
{
	struct sink other;

	folder_begin(&folder);
	ck_assert_int_eq(symlinkat("/tmp", folder.fd, "fs"), 0);
	ck_assert_int_eq(sink_init(&other, folder.fd, IOTR_VFS, IOTR_FORMAT_CSV, &extent, NULL), -EEXIST);
	sink_done(&other);
	folder_end(&folder);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, begins_with_a_header);
	tcase_add_test(tests, writes_all_rows);
	tcase_add_test(tests, rotates);
	tcase_add_test(tests, writes_past_the_cache_and_through_it);
	tcase_add_test(tests, counts_whole_rows_of_whole_blocks);
	tcase_add_test(tests, keeps_whole_rows_on_a_full_disk);
	tcase_add_test(tests, goes_on_when_there_is_room);
	tcase_add_test(tests, begins_a_segment_when_there_is_room);
	tcase_add_test(tests, closes_what_it_could_not);
	tcase_add_test(tests, measures);
	tcase_add_test(tests, removes_its_files);
	tcase_add_test(tests, follows_no_link);
}

int main(void)
{
	return run_suite("sink", add);
}
