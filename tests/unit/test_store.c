// SPDX-License-Identifier: GPL-2.0-or-later
#include "store.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

#include "folder.h"
#include "suite.h"

static struct folder folder;
static struct store *store;

static void begin(void)
{
	folder_begin(&folder);
	store = NULL;
}

static void end(void)
{
	store_free(store);
	folder_end(&folder);
}

static void open_store(const char *name)
{
	char path[SNAPSHOT_PATH_SIZE];

	snprintf(path, sizeof(path), "things/%s", name);
	ck_assert_int_eq(store_new(folder.fd, path, 0, NULL, &store), 0);
}

/* As much as takes several flushes; the same bytes as `yes hello | head`. */
static void write_lines(unsigned int lines)
{
	while (lines--)
		store_text(store, "hello\n", 6);
}

static void check_command(const char *format, const char *expected)
{
	char command[256], line[128] = "";
	FILE *pipe;

	snprintf(command, sizeof(command), format, folder.path);
	pipe = popen(command, "re");
	ck_assert_ptr_nonnull(pipe);
	ck_assert_int_eq(fscanf(pipe, "%127s", line), 1);
	pclose(pipe);
	ck_assert_str_eq(line, expected);
}

/*
 * A symbolic link in place of the folder of snapshots, made by the owner of the output: nothing is written where it
 * leads.
 */
START_TEST(follows_no_link)
{
	folder_put(&folder, "secret/a.csv", "as it was\n");
	ck_assert_int_eq(symlinkat("secret", folder.fd, "things"), 0);
	ck_assert_int_lt(store_new(folder.fd, "things/a.csv", 0, NULL, &store), 0);
	folder_put(&folder, "secret/b.csv.part", "as it was\n");
	store_remove_part(folder.fd, "things/b.csv", 0);
	ck_assert(folder_has(&folder, "secret/b.csv.part"));
	check_command("cat %s/secret/a.csv | tr ' ' -", "as-it-was");
}
END_TEST

START_TEST(compresses)
{
	struct snapshot_file file;
	char size[32];

	open_store("a.csv.gz");
	ck_assert(folder_has(&folder, "things/a.csv.gz.part"));
	write_lines(200000);
	store->rows = 7;
	ck_assert_int_eq(store_finish(store, &file), 0);
	ck_assert(!folder_has(&folder, "things/a.csv.gz.part"));
	ck_assert_str_eq(file.path, "things/a.csv.gz");
	ck_assert_uint_eq(file.bytes, 1200000);
	ck_assert_uint_lt(file.stored_bytes, 20000);
	ck_assert_uint_eq(file.rows, 7);
	check_command("zcat %s/things/a.csv.gz | sha256sum", file.sha256);
	snprintf(size, sizeof(size), "%llu", (unsigned long long)file.stored_bytes);
	check_command("stat -c %%s %s/things/a.csv.gz", size);
}
END_TEST

START_TEST(writes_plain)
{
	struct snapshot_file file;

	open_store("a.txt");
	write_lines(3);
	ck_assert_int_eq(store_finish(store, &file), 0);
	ck_assert_uint_eq(file.stored_bytes, 18);
	ck_assert_uint_eq(folder_lines(&folder, "things/a.txt"), 3);
	check_command("sha256sum < %s/things/a.txt", file.sha256);
}
END_TEST

/* A text longer than the buffer. */
START_TEST(takes_long_text)
{
	struct snapshot_file file;
	char *text = malloc(3 * STORE_BUFFER_SIZE);

	memset(text, 'x', 3 * STORE_BUFFER_SIZE);
	open_store("a.txt");
	store_text(store, text, 3 * STORE_BUFFER_SIZE);
	free(text);
	ck_assert_int_eq(store_finish(store, &file), 0);
	ck_assert_uint_eq(file.bytes, 3 * STORE_BUFFER_SIZE);
	ck_assert_uint_eq(file.stored_bytes, 3 * STORE_BUFFER_SIZE);
}
END_TEST

START_TEST(leaves_nothing_unfinished)
{
	open_store("a.csv.gz");
	write_lines(100);
	store_free(store);
	store = NULL;
	ck_assert(folder_has(&folder, "things"));
	ck_assert(!folder_has(&folder, "things/a.csv.gz.part"));
	ck_assert(!folder_has(&folder, "things/a.csv.gz"));
}
END_TEST

START_TEST(tells_a_full_disk)
{
	const struct rlimit limit = { 100000, 100000 };
	struct snapshot_file file;

	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	open_store("a.txt");
	write_lines(200000);
	ck_assert_int_eq(store_finish(store, &file), -EFBIG);
	store_free(store);
	store = NULL;
	ck_assert(!folder_has(&folder, "things/a.txt"));
	ck_assert(!folder_has(&folder, "things/a.txt.part"));
}
END_TEST

/* A symbolic link in place of the unfinished file is replaced, not followed. */
START_TEST(replaces_what_lies_there)
{
	struct snapshot_file file;

	ck_assert_int_eq(mkdirat(folder.fd, "things", 0755), 0);
	ck_assert_int_eq(symlinkat("../target", folder.fd, "things/a.txt.part"), 0);
	open_store("a.txt");
	write_lines(1);
	ck_assert_int_eq(store_finish(store, &file), 0);
	ck_assert(!folder_has(&folder, "target"));
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_test(tests, follows_no_link);
	tcase_add_test(tests, compresses);
	tcase_add_test(tests, writes_plain);
	tcase_add_test(tests, takes_long_text);
	tcase_add_test(tests, leaves_nothing_unfinished);
	tcase_add_test(tests, tells_a_full_disk);
	tcase_add_test(tests, replaces_what_lies_there);
}

int main(void)
{
	return run_suite("store", add);
}
