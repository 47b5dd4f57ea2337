// SPDX-License-Identifier: GPL-2.0-or-later
#include "storage/compress.h"

#include <errno.h>

#include "folder.h"
#include "suite.h"

#define LARGE (5 * 1024 * 1024 / 2 + 17) /* several gzip members, of which the last is smaller */

static struct folder folder;
static uint64_t asked, told, grant;

static void computes(void *userdata, bool begins)
{
	(void)userdata, (void)begins;
}

static int before(void *userdata, uint64_t bytes)
{
	(void)userdata;
	if (asked + bytes > grant)
		return -EDQUOT;
	asked += bytes;
	return 0;
}

static void after(void *userdata, uint64_t bytes, uint64_t written)
{
	(void)userdata;
	ck_assert_uint_eq(bytes, written);
	told += written;
}

/* Rows that do not repeat, so that text in the wrong place is noticed. */
static void write_text(size_t size)
{
	char path[128];
	FILE *file;

	folder_begin(&folder);
	snprintf(path, sizeof(path), "%s/text", folder.path);
	file = fopen(path, "we");
	for (size_t i = 0; (size_t)ftell(file) < size; i++)
		fprintf(file, "%zu,READ,%zx\n", i, i * 2654435761u);
	fflush(file);
	ck_assert_int_eq(ftruncate(fileno(file), (off_t)size), 0);
	fclose(file);
}

static int compress(size_t size, uint64_t room)
{
	const struct compress_guard guard = { computes, before, after, NULL };
	struct compressor *compressor = compressor_new(COMPRESS_LEVEL);
	int in = openat(folder.fd, "text", O_RDONLY);
	int out = openat(folder.fd, "text.gz", O_WRONLY | O_CREAT, 0600);
	int error;

	asked = told = 0;
	grant = room;
	error = compress_file(compressor, in, size, out, &guard);
	compressor_free(compressor);
	close(in);
	close(out);
	return error;
}

/* gzip(1) unpacks the same text. */
static void check_same(void)
{
	char command[512];

	snprintf(command, sizeof(command),
		 "cd %s && gzip -t text.gz && gzip -dc text.gz | cmp - text", folder.path);
	ck_assert_int_eq(system(command), 0);
}

START_TEST(comes_back_whole)
{
	static const size_t sizes[] = { 0, 1, 4096, 1024 * 1024, LARGE };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct stat status;

		write_text(sizes[i]);
		ck_assert_int_eq(compress(sizes[i], UINT64_MAX), 0);
		check_same();
		ck_assert_int_eq(fstatat(folder.fd, "text.gz", &status, 0), 0);
		ck_assert_uint_eq(told, (uint64_t)status.st_size);
		folder_end(&folder);
	}
}
END_TEST

START_TEST(asks_before_it_writes)
{
	struct stat status;

	write_text(LARGE);
	ck_assert_int_eq(compress(LARGE, 500 * 1024), -EDQUOT);
	ck_assert_int_eq(fstatat(folder.fd, "text.gz", &status, 0), 0);
	ck_assert_uint_le((uint64_t)status.st_size, 500 * 1024);
	folder_end(&folder);
}
END_TEST

START_TEST(tells_of_a_text_that_is_too_short)
{
	write_text(1000);
	ck_assert_int_eq(compress(1001, UINT64_MAX), -EIO);
	folder_end(&folder);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, comes_back_whole);
	tcase_add_test(tests, asks_before_it_writes);
	tcase_add_test(tests, tells_of_a_text_that_is_too_short);
}

int main(void)
{
	return run_suite("compress", add);
}
