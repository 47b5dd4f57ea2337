// SPDX-License-Identifier: GPL-2.0-or-later
#include "top.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"

static struct top *top;

static bool stacked(const struct row *row, void *userdata)
{
	(void)userdata;
	return ((const struct iotr_block_record *)row->record)->disk == 7;
}

static void begin_by(unsigned int by, top_namer namer)
{
	ck_assert_int_eq(top_new(by, namer, stacked, NULL, &top), 0);
}

static void begin(void)
{
	begin_by(TOP_BY_PROCESS | TOP_BY_OPERATION | TOP_BY_FILE, NULL);
}

static void end(void)
{
	top_free(top);
}

static void put(uint32_t pid, uint8_t operation, const char *path, int64_t result, uint64_t latency_ns)
{
	struct iotr_vfs_record record = {
		.head = { .size = sizeof(record), .stream = IOTR_VFS, .operation = operation,
			  .pid = pid, .latency_ns = latency_ns, .command = "test" },
		.result = result, .counts_bytes = 1,
	};
	struct row row = { .record = &record.head, .path = { path, (uint32_t)strlen(path) } };

	top_add(top, &row);
}

START_TEST(sums_up)
{
	const struct top_group *const *groups;

	begin();
	put(1, 0, "/a", 10, 100);
	put(1, 0, "/a", -5, 300);
	put(1, 1, "/a", 1, 1);
	put(2, 0, "/a", 1, 1);
	put(1, 0, "/b", 1, IOTR_UNKNOWN);
	ck_assert_uint_eq(top_sort(top, TOP_ROWS, &groups), 4);
	ck_assert_uint_eq(groups[0]->rows, 2);
	ck_assert_uint_eq(groups[0]->read, 10);
	ck_assert_uint_eq(groups[0]->latency_ns, 400);
	ck_assert_uint_eq(groups[0]->latency_max_ns, 300);
	ck_assert_uint_eq(groups[0]->pid, 1);
	ck_assert_str_eq(groups[0]->command, "test");
	ck_assert_uint_eq(groups[0]->path_length, 2);
	ck_assert_int_eq(memcmp(groups[0]->path, "/a", 2), 0);
	ck_assert_uint_eq(top_rows(top), 5);
	ck_assert_uint_eq(top_others(top), 0);
	end();
}
END_TEST

static void put_pair(uint8_t stream, uint8_t operation, const char *from, const char *to)
{
	union {
		struct iotr_vfs_record vfs;
		struct iotr_iouring_record iouring;
	} record = { .vfs.head = { .size = sizeof(record), .stream = stream, .operation = operation, .pid = 1 } };
	struct row row = { .record = &record.vfs.head, .path = { from, (uint32_t)strlen(from) },
			   .path2 = { to, (uint32_t)strlen(to) } };

	top_add(top, &row);
}

/* What is done to two names is shown with both, as in rows; what is the same in one of them alone is apart. */
START_TEST(two_names)
{
	static const char *const texts[] = { "/a -> /b", "/a -> /c", "/a -> /b", "/a -> ...", "/a" };
	const struct top_group *const *groups;

	begin();
	for (int i = 0; i < 5; i++)
		put_pair(IOTR_VFS, IOTR_VFS_LINK, "/a", "/b");
	for (int i = 0; i < 4; i++)
		put_pair(IOTR_VFS, IOTR_VFS_LINK, "/a", "/c");
	for (int i = 0; i < 3; i++)
		put_pair(IOTR_IOURING, IOTR_IOURING_RENAMEAT, "/a", "/b");
	for (int i = 0; i < 2; i++)
		put_pair(IOTR_VFS, IOTR_VFS_RENAME, "/a", "");
	put_pair(IOTR_VFS, IOTR_VFS_OPEN, "/a", "");
	ck_assert_uint_eq(top_sort(top, TOP_ROWS, &groups), 5);
	for (int i = 0; i < 5; i++) {
		ck_assert_uint_eq(groups[i]->path_length, strlen(texts[i]));
		ck_assert_int_eq(memcmp(groups[i]->path, texts[i], strlen(texts[i])), 0);
	}
	end();
}
END_TEST

/* Three groups, each of which is the first in another order. */
START_TEST(sorts)
{
	static const uint32_t first[] = { [TOP_ROWS] = 1, [TOP_BYTES] = 2, [TOP_LATENCY] = 3 };
	const struct top_group *const *groups;

	begin();
	put(1, 0, "", 1, 1);
	put(1, 0, "", 1, 1);
	put(2, 0, "", 1000, 1);
	put(3, 0, "", 1, 1000);
	for (int order = 0; order < TOP_ORDER_COUNT; order++) {
		ck_assert_uint_eq(top_sort(top, (enum top_order)order, &groups), 3);
		ck_assert_uint_eq(groups[0]->pid, first[order]);
	}
	end();
}
END_TEST

static struct row row_of(const struct iotr_record *record)
{
	return (struct row){ .record = record, .path = { "", 0 } };
}

START_TEST(counts_bytes)
{
	struct iotr_block_record block = { .head = { .stream = IOTR_BLOCK, .pid = 1 }, .size = 4096 };
	struct iotr_block_record failed = { .head = { .stream = IOTR_BLOCK, .pid = 2 }, .size = 4096,
					    .error = 5 };
	struct iotr_net_record net = { .head = { .stream = IOTR_NET, .pid = 3 }, .bytes = 100 };
	struct iotr_net_record unknown = { .head = { .stream = IOTR_NET, .pid = 4 },
					   .bytes = IOTR_UNKNOWN };
	const struct iotr_record *const records[] = { &block.head, &failed.head, &net.head,
						      &unknown.head };
	static const uint64_t bytes[] = { 0, 4096, 0, 100, 0 };
	const struct top_group *const *groups;

	begin();
	for (size_t i = 0; i < 4; i++) {
		struct row row = row_of(records[i]);

		top_add(top, &row);
	}
	ck_assert_uint_eq(top_sort(top, TOP_BYTES, &groups), 4);
	for (size_t i = 0; i < 4; i++)
		ck_assert_uint_eq(groups[i]->read + groups[i]->written, bytes[groups[i]->pid]);
	end();
}
END_TEST

/* A call, its pages and its requests are not added up, nor is what disks that are made of others do, nor reads and writes. */
START_TEST(streams_apart)
{
	struct iotr_vfs_record copy = { .head = { .stream = IOTR_VFS, .pid = 1, .operation = IOTR_VFS_COPY_FILE_RANGE },
					.result = 100, .counts_bytes = 1 };
	struct iotr_vfs_record names = { .head = { .stream = IOTR_VFS, .pid = 1, .operation = IOTR_VFS_READDIR },
					 .result = 100, .counts_bytes = 1 };
	struct iotr_block_record leaf = { .head = { .stream = IOTR_BLOCK, .pid = 1, .operation = IOTR_BLOCK_WRITE }, .size = 4096 };
	struct iotr_block_record above = leaf;
	struct iotr_cache_record pages = { .head = { .stream = IOTR_CACHE, .pid = 1, .operation = IOTR_CACHE_DIRTY }, .count = 2 };
	const struct iotr_record *const records[] = { &copy.head, &names.head, &leaf.head, &above.head, &pages.head };
	const struct top_group *const *groups;

	above.disk = 7;
	begin_by(TOP_BY_PROCESS, NULL);
	for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++) {
		struct row row = row_of(records[i]);

		top_add(top, &row);
	}
	ck_assert_uint_eq(top_sort(top, TOP_BYTES, &groups), 4);
	for (size_t i = 0; i < 4; i++) {
		if (groups[i]->stream == IOTR_VFS)
			ck_assert(groups[i]->read == 100 && groups[i]->written == 100 && groups[i]->rows == 2);
		if (groups[i]->stream == IOTR_BLOCK)
			ck_assert(!groups[i]->read && groups[i]->written == 4096 && groups[i]->rows == 1);
		if (groups[i]->stream == IOTR_CACHE)
			ck_assert(!groups[i]->read && groups[i]->written == 8192);
	}
	end();
}
END_TEST

START_TEST(is_bounded)
{
	const struct top_group *const *groups;

	begin();
	for (uint32_t pid = 1; pid <= TOP_GROUPS_MAX + 10; pid++)
		put(pid, 0, "/a", 1, 1);
	put(1, 0, "/a", 1, 1);
	ck_assert_uint_eq(top_sort(top, TOP_ROWS, &groups), TOP_GROUPS_MAX);
	ck_assert_uint_eq(groups[0]->rows, 2);
	ck_assert_uint_eq(top_others(top), 10);
	ck_assert_uint_eq(top_rows(top), TOP_GROUPS_MAX + 11);
	end();
}
END_TEST

/* Long paths stay different groups, and are cut between two characters. */
START_TEST(cuts_paths)
{
	char path[2 * TOP_PATH_MAX];
	const struct top_group *const *groups;

	begin();
	memset(path, 'x', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	memcpy(path + TOP_PATH_MAX - 1, "\xe2\x82\xac", 3);
	put(1, 0, path, 1, 1);
	path[sizeof(path) - 2] = 'y';
	put(1, 0, path, 1, 1);
	ck_assert_uint_eq(top_sort(top, TOP_ROWS, &groups), 2);
	ck_assert_uint_eq(groups[0]->path_length, TOP_PATH_MAX - 1);
	end();
}
END_TEST

static struct row_text name_by_process(const struct row *row, void *userdata)
{
	(void)userdata;
	return row->record->pid == 1 ? (struct row_text){ "one", 3 } : (struct row_text){ "", 0 };
}

static const struct {
	unsigned int by;
	top_namer namer;
	size_t groups;
	const char *first; /* the name of the one with the most rows */
	uint64_t rows;	   /* that it has */
} sums[] = {
	{ TOP_BY_PROCESS, NULL, 2, "", 4 },
	{ TOP_BY_OPERATION, NULL, 2, "", 5 },
	{ TOP_BY_FILE, NULL, 4, "/a/b/c", 3 },
	{ TOP_BY_DIRECTORY, NULL, 3, "/a/b", 4 },
	{ TOP_BY_NAME, name_by_process, 2, "one", 4 },
};

START_TEST(sums_up_by_one)
{
	const struct top_group *const *groups;

	begin_by(sums[_i].by, sums[_i].namer);
	put(1, 0, "/a/b/c", 1, 1);
	put(1, 0, "/a/b/c", 1, 1);
	put(1, 0, "/a/b/c", 1, 1);
	put(1, 0, "/a/b/d", 1, 1);
	put(2, 0, "/top", 1, 1);
	put(2, 1, "", 1, 1);
	ck_assert_uint_eq(top_sort(top, TOP_ROWS, &groups), sums[_i].groups);
	ck_assert_uint_eq(groups[0]->rows, sums[_i].rows);
	ck_assert_uint_eq(groups[0]->path_length, strlen(sums[_i].first));
	ck_assert_int_eq(memcmp(groups[0]->path, sums[_i].first, groups[0]->path_length), 0);
	end();
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_loop_test(tests, sums_up_by_one, 0, sizeof(sums) / sizeof(sums[0]));
	tcase_add_test(tests, sums_up);
	tcase_add_test(tests, two_names);
	tcase_add_test(tests, sorts);
	tcase_add_test(tests, counts_bytes);
	tcase_add_test(tests, streams_apart);
	tcase_add_test(tests, is_bounded);
	tcase_add_test(tests, cuts_paths);
}

int main(void)
{
	return run_suite("top", add);
}
