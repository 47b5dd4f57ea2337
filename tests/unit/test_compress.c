// SPDX-License-Identifier: GPL-2.0-or-later
#include "storage/compress.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/statfs.h>

#include "folder.h"
#include "sha256_hex.h"
#include "suite.h"

#define LARGE (5 * 1024 * 1024 / 2 + 17) /* several gzip members, of which the last is smaller */
#define HUGE  (40 * 1024 * 1024 + 17)
#define MIB   (1024 * 1024)
#define TMPFS 0x01021994

static struct folder folder;
static uint64_t asked, told, grant;
static char sha256[SHA256_HEX_SIZE];
static size_t most_pages; /* bytes of the .gz that were in the page cache at once */
static int packed_fd;

static void computes(void *userdata, bool begins)
{
	(void)userdata, (void)begins;
}

/* Bytes of the file that are in the page cache. */
static size_t resident(int fd)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), pages, found = 0;
	unsigned char *there;
	struct stat status;
	void *file;

	ck_assert_int_eq(fstat(fd, &status), 0);
	pages = ((size_t)status.st_size + page - 1) / page;
	if (!pages)
		return 0;
	there = malloc(pages);
	file = mmap(NULL, pages * page, PROT_READ, MAP_SHARED, fd, 0);
	ck_assert(there && file != MAP_FAILED);
	ck_assert_int_eq(mincore(file, pages * page, there), 0);
	for (size_t i = 0; i < pages; i++)
		found += there[i] & 1;
	munmap(file, pages * page);
	free(there);
	return found * page;
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
	if (resident(packed_fd) > most_pages)
		most_pages = resident(packed_fd);
}

/* Rows that do not repeat, so that text in the wrong place is noticed. */
static void write_text(size_t size)
{
	char path[128];
	FILE *file;

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
	int out = openat(folder.fd, "text.gz", O_WRONLY | O_CREAT | O_TRUNC, 0600);
	uint8_t digest[SHA256_DIGEST_SIZE];
	int error;

	asked = told = most_pages = 0;
	grant = room;
	packed_fd = openat(folder.fd, "text.gz", O_RDONLY);
	error = compress_file(compressor, in, size, out, &guard, digest);
	if (!error)
		sha256_format(digest, sha256);
	compressor_free(compressor);
	close(packed_fd);
	close(in);
	close(out);
	return error;
}

/* gzip(1) unpacks the same text, and sha256sum(1) agrees with compress_file(). */
static void check_same(void)
{
	char command[512];
	struct stat status;

	snprintf(command, sizeof(command),
		 "cd %s && gzip -t text.gz && gzip -dc text.gz | cmp - text && echo '%s  text.gz' | sha256sum -c --status",
		 folder.path, sha256);
	ck_assert_int_eq(system(command), 0);
	ck_assert_int_eq(fstatat(folder.fd, "text.gz", &status, 0), 0);
	ck_assert_uint_eq(told, (uint64_t)status.st_size);
}

static void begin(void)
{
	folder_begin(&folder);
}

static void end(void)
{
	folder_end(&folder);
}

START_TEST(comes_back_whole)
{
	static const size_t sizes[] = { 0, 1, 4095, 4096, MIB - 1, MIB, MIB + 1, LARGE };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		write_text(sizes[i]);
		ck_assert_int_eq(compress(sizes[i], UINT64_MAX), 0);
		check_same();
	}
}
END_TEST

/* Where direct reads are not known, or pages cannot be dropped. */
START_TEST(any_file_system)
{
	struct folder usual = folder;

	strcpy(folder.path, "/dev/shm/iotracer_test.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder.path));
	folder.fd = open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	write_text(LARGE);
	ck_assert_int_eq(compress(LARGE, UINT64_MAX), 0);
	check_same();
	folder_end(&folder);
	folder = usual;
}
END_TEST

/* Nothing that a member may hold makes it larger than its buffer. */
START_TEST(incompressible)
{
	char command[256];

	snprintf(command, sizeof(command), "head -c %d /dev/urandom > %s/text", LARGE, folder.path);
	ck_assert_int_eq(system(command), 0);
	ck_assert_int_eq(compress(LARGE, UINT64_MAX), 0);
	check_same();
	ck_assert_uint_gt(told, LARGE);
}
END_TEST

/* The file may be longer than the segment. */
START_TEST(beginning_of_a_file)
{
	char command[256];

	write_text(LARGE);
	ck_assert_int_eq(compress(MIB + 100, UINT64_MAX), 0);
	snprintf(command, sizeof(command), "truncate -s %d %s/text", MIB + 100, folder.path);
	ck_assert_int_eq(system(command), 0);
	check_same();
}
END_TEST

/* Neither the text nor what is made of it takes the page cache from others. */
START_TEST(leaves_the_page_cache)
{
	struct statfs system_;
	int in;

	ck_assert_int_eq(fstatfs(folder.fd, &system_), 0);
	if (system_.f_type == TMPFS)
		return; /* where all is in memory */
	write_text(HUGE);
	in = openat(folder.fd, "text", O_RDONLY);
	ck_assert_int_eq(fsync(in), 0);
	ck_assert_int_eq(compress(HUGE, UINT64_MAX), 0);
	ck_assert_uint_le(resident(in), 2 * MIB);
	ck_assert_uint_gt(told, 8 * MIB);
	ck_assert_uint_le(most_pages, 4 * MIB);
	close(in);
	check_same();
}
END_TEST

START_TEST(asks_before_it_writes)
{
	struct stat status;

	write_text(LARGE);
	ck_assert_int_eq(compress(LARGE, 500 * 1024), -EDQUOT);
	ck_assert_int_eq(fstatat(folder.fd, "text.gz", &status, 0), 0);
	ck_assert_uint_le((uint64_t)status.st_size, 500 * 1024);
}
END_TEST

START_TEST(tells_of_a_text_that_is_too_short)
{
	write_text(1000);
	ck_assert_int_eq(compress(1001, UINT64_MAX), -EIO);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_test(tests, comes_back_whole);
	tcase_add_test(tests, any_file_system);
	tcase_add_test(tests, incompressible);
	tcase_add_test(tests, beginning_of_a_file);
	tcase_add_test(tests, leaves_the_page_cache);
	tcase_add_test(tests, asks_before_it_writes);
	tcase_add_test(tests, tells_of_a_text_that_is_too_short);
}

int main(void)
{
	return run_suite("compress", add);
}
