// SPDX-License-Identifier: GPL-2.0-or-later
#include "write_behind.h"

#include <errno.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>

#include "folder.h"
#include "suite.h"

enum {
	PIECE = 100000,
	PIECES = 120,
	BLOCKS = 64 * WRITE_BEHIND_BLOCK,
};

static struct folder folder;
static struct write_behind behind;
static int fd;
static uint64_t size;
static _Alignas(WRITE_BEHIND_BLOCK) char data[BLOCKS];

static void begin(void)
{
	folder_begin(&folder);
	behind = (struct write_behind){ 0 };
	size = 0;
	fd = openat(folder.fd, "file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
}

static void end(void)
{
	close(fd);
	folder_end(&folder);
}

/* The byte that the file has at this offset. */
static char byte_at(uint64_t offset)
{
	return (char)(offset * 31 >> 7);
}

static void fill(size_t count)
{
	for (size_t i = 0; i < count; i++)
		data[i] = byte_at(size + i);
}

static void put(size_t count)
{
	int error;

	fill(count);
	ck_assert_uint_eq(write_behind_put(&behind, fd, data, count, size, &error), count);
	ck_assert_int_eq(error, 0);
	size += count;
}

/* False: the file system does not support it. */
static bool put_blocks(void)
{
	size_t done;
	int error;

	fill(BLOCKS);
	done = write_behind_put_blocks(&behind, fd, data, BLOCKS, size, &error);
	ck_assert_int_eq(error, 0);
	ck_assert(done == BLOCKS || (!done && behind.refused));
	size += done;
	return done;
}

/* Bytes of the file in the page cache, where files of a tmpfs always are. */
static uint64_t cached(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (size + page - 1) / page, count = 0;
	unsigned char *in = calloc(pages + 1, 1);
	void *map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	struct statfs system;

	ck_assert_int_eq(fstatfs(fd, &system), 0);
	ck_assert_ptr_ne(map, MAP_FAILED);
	ck_assert_int_eq(mincore(map, size, in), 0);
	munmap(map, size);
	for (size_t i = 0; i < pages; i++)
		count += in[i] & 1;
	free(in);
	return system.f_type == TMPFS_MAGIC ? 0 : count * page;
}

static void check_file(void)
{
	char *text = malloc(size);

	ck_assert_int_eq(pread(fd, text, size, 0), (ssize_t)size);
	for (uint64_t i = 0; i < size; i++)
		if (text[i] != byte_at(i))
			ck_abort_msg("byte %llu of the file is another one", (unsigned long long)i);
	free(text);
}

START_TEST(leaves_the_cache_behind)
{
	begin();
	for (int i = 0; i < PIECES; i++) {
		put(PIECE);
		ck_assert_uint_le(cached(), 2 * WRITE_BEHIND_STEP + 2 * PIECE + 65536);
	}
	ck_assert_int_eq(write_behind_end(&behind, fd), 0);
	ck_assert_uint_eq(cached(), 0);
	check_file();
	end();
}
END_TEST

START_TEST(goes_past_the_cache)
{
	begin();
	for (int i = 0; i < 8; i++)
		if (!put_blocks())
			break;
	if (!behind.refused)
		ck_assert_uint_eq(cached(), 0);
	/* Writes the end of a block through the cache, and then the whole block past it. */
	put(10);
	size -= 10;
	put_blocks();
	for (int i = 0; i <= WRITE_BEHIND_LITTLE / PIECE; i++)
		put(PIECE);
	ck_assert_int_eq(write_behind_end(&behind, fd), 0);
	ck_assert_uint_eq(cached(), 0);
	check_file();
	end();
}
END_TEST

START_TEST(takes_whole_blocks_alone_past_the_cache)
{
	int error;

	begin();
	ck_assert_uint_eq(write_behind_put_blocks(&behind, fd, data, 0, 0, &error), 0);
	ck_assert_uint_eq(write_behind_put_blocks(&behind, fd, data, 4097, 0, &error), 0);
	ck_assert_uint_eq(write_behind_put_blocks(&behind, fd, data, 4096, 512, &error), 0);
	ck_assert_uint_eq(write_behind_put_blocks(&behind, fd, data + 8, 4096, 0, &error), 0);
	ck_assert_int_eq(error, 0);
	ck_assert(!behind.refused);
	end();
}
END_TEST

/* A file that cannot be written at an offset, as a pipe, makes the write fail, and nothing else. */
START_TEST(tells_what_the_write_said)
{
	int pipes[2], error;

	begin();
	close(fd);
	ck_assert_int_eq(pipe2(pipes, O_CLOEXEC), 0);
	fd = pipes[1];
	ck_assert_uint_eq(write_behind_put(&behind, fd, data, 10, 0, &error), 0);
	ck_assert_int_eq(error, -ESPIPE);
	ck_assert_int_eq(write_behind_end(&behind, fd), 0);
	close(pipes[0]);
	end();
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, leaves_the_cache_behind);
	tcase_add_test(tests, goes_past_the_cache);
	tcase_add_test(tests, takes_whole_blocks_alone_past_the_cache);
	tcase_add_test(tests, tells_what_the_write_said);
}

int main(void)
{
	return run_suite("write_behind", add);
}
