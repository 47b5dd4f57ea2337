// SPDX-License-Identifier: GPL-2.0-or-later
#include "anonymize_key.h"

#include <errno.h>
#include <sys/wait.h>

#include "folder.h"
#include "suite.h"

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))
#define DIGITS "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static struct folder folder;
static char path[128];
static char message[512];
static uint8_t key[IOTR_ANONYMIZE_KEY_SIZE];

static void setup(void)
{
	folder_begin(&folder);
	snprintf(path, sizeof(path), "%s/" IOTR_ANONYMIZE_KEY_NAME, folder.path);
	message[0] = '\0';
}

static void teardown(void)
{
	folder_end(&folder);
}

static void put(const char *text, size_t size, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ck_assert_int_eq(write(fd, text, size), (ssize_t)size);
	ck_assert_int_eq(fchmod(fd, mode), 0);
	close(fd);
}

static void refused(int error, const char *word)
{
	uint8_t unchanged[sizeof(key)] = { 0 };

	memset(key, 0, sizeof(key));
	ck_assert_int_eq(iotr_anonymize_key_ensure(folder.path, key, message, sizeof(message)), error);
	ck_assert_msg(strstr(message, word) && strstr(message, path), "%s", message);
	if (error != -EBADMSG)
		ck_assert_mem_eq(key, unchanged, sizeof(key));
}

START_TEST(makes_a_key_once)
{
	uint8_t again[sizeof(key)];
	struct stat status;

	ck_assert_int_eq(iotr_anonymize_key_ensure(folder.path, key, message, sizeof(message)), 0);
	ck_assert_int_eq(iotr_anonymize_key_ensure(folder.path, again, message, sizeof(message)), 0);
	ck_assert_mem_eq(key, again, sizeof(key));
	ck_assert_int_eq(iotr_anonymize_key_read(path, again, message, sizeof(message)), 0);
	ck_assert_mem_eq(key, again, sizeof(key));
	ck_assert_int_eq(stat(path, &status), 0);
	ck_assert_int_eq(status.st_mode & 07777, 0600);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(rmdir(folder.path), 0); /* no temporary file is left */
	ck_assert_int_eq(iotr_anonymize_key_ensure(folder.path, again, message, sizeof(message)), 0);
	ck_assert_mem_ne(key, again, sizeof(key));
}
END_TEST

START_TEST(reads_what_is_written)
{
	put(DIGITS "\n", 65, 0400);
	ck_assert_int_eq(iotr_anonymize_key_read(path, key, message, sizeof(message)), 0);
	for (size_t i = 0; i < sizeof(key); i++)
		ck_assert_uint_eq(key[i], (i % 8 * 2) << 4 | (i % 8 * 2 + 1));
}
END_TEST

static const struct {
	const char *text;
	size_t size;
} damaged[] = {
	{ "", 0 },
	{ DIGITS, 64 },
	{ DIGITS "\n\n", 66 },
	{ DIGITS "0", 65 },
	{ "g" DIGITS, 65 },
	{ "0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef\n", 65 },
	{ "0000000000000000000000000000000000000000000000000000000000000000\n", 65 },
};

START_TEST(refuses_damage)
{
	put(damaged[_i].text, damaged[_i].size, 0600);
	refused(-EBADMSG, "damaged");
}
END_TEST

START_TEST(refuses_keys_that_others_know)
{
	static const mode_t modes[] = { 0640, 0604, 0620, 0602, 0610, 0601 };

	put(DIGITS "\n", 65, modes[_i]);
	refused(-EPERM, "others than its owner");
}
END_TEST

START_TEST(refuses_keys_of_others)
{
	put(DIGITS "\n", 65, 0600);
	if (chown(path, 12345, 0) < 0)
		return; /* only root can give the file to another user */
	refused(-EPERM, "user 12345");
}
END_TEST

/* A FIFO, a folder or a link is refused at once, without waiting for a writer. */
START_TEST(refuses_what_is_no_file)
{
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	refused(-EBADMSG, "is not a file");
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	refused(-EBADMSG, "is not a file");
	ck_assert_int_eq(rmdir(path), 0);
	ck_assert_int_eq(symlink("/nonexistent", path), 0);
	refused(-ENOENT, "cannot be opened"); /* and no key is made elsewhere */
}
END_TEST

START_TEST(tells_why_none_is_made)
{
	strcpy(folder.path, "/proc/nowhere");
	ck_assert_int_lt(iotr_anonymize_key_ensure(folder.path, key, message, sizeof(message)), 0);
	ck_assert_ptr_nonnull(strstr(message, "/proc/nowhere/anonymize.key: its folder cannot be created"));
}
END_TEST

/* Several daemons that start at once have one key. */
START_TEST(makes_one_key_for_all)
{
	enum { PROCESSES = 8 };
	uint8_t found[sizeof(key)];
	int results[2];

	ck_assert_int_eq(pipe(results), 0);
	for (int i = 0; i < PROCESSES; i++)
		if (!fork()) {
			if (iotr_anonymize_key_ensure(folder.path, key, message, sizeof(message)) < 0)
				_exit(1);
			_exit(write(results[1], key, sizeof(key)) != sizeof(key));
		}
	for (int i = 0; i < PROCESSES; i++) {
		int status;

		ck_assert_int_gt(wait(&status), 0);
		ck_assert_int_eq(status, 0);
	}
	ck_assert_int_eq(iotr_anonymize_key_read(path, key, message, sizeof(message)), 0);
	for (int i = 0; i < PROCESSES; i++) {
		ck_assert_int_eq(read(results[0], found, sizeof(found)), sizeof(found));
		ck_assert_mem_eq(found, key, sizeof(key));
	}
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, makes_a_key_once);
	tcase_add_test(tests, reads_what_is_written);
	tcase_add_loop_test(tests, refuses_damage, 0, LENGTH(damaged));
	tcase_add_loop_test(tests, refuses_keys_that_others_know, 0, 6);
	tcase_add_test(tests, refuses_keys_of_others);
	tcase_add_test(tests, refuses_what_is_no_file);
	tcase_add_test(tests, tells_why_none_is_made);
	tcase_add_test(tests, makes_one_key_for_all);
}

int main(void)
{
	return run_suite("anonymize_key", add);
}
