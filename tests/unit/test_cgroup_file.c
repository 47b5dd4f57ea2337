// SPDX-License-Identifier: GPL-2.0-or-later
#include "cgroups/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cgroups/list.h"
#include "folder.h"
#include "inside.h"
#include "suite.h"

#define ID     "0b6f9a1c2d3e4f50617283949a0b1c2d3e4f50617283949a0b1c2d3e4f506172"
#define HEADER "cgroup_id,path,unit,container_id,pod_uid,first_seen,last_seen\n"
#define NAME   CGROUPS_FOLDER "/" CGROUPS_NAME

static struct folder folder;
static struct cgroup_list *list;
static char *text;

static void begin(void)
{
	folder_begin(&folder);
	list = cgroup_list_new();
}

static void end(void)
{
	free(text);
	text = NULL;
	cgroup_list_free(list);
	folder_end(&folder);
}

static bool is_there(const char *path)
{
	return !faccessat(folder.fd, path, F_OK, 0);
}

/* The rows of the file without their times, which are of this machine's clocks. */
static const char *rows_of(const char *name)
{
	int fd = openat(folder.fd, CGROUPS_FOLDER, O_RDONLY | O_DIRECTORY);
	size_t size;
	char *out;

	free(text);
	ck_assert_int_eq(inside_read(fd, name, 1 << 20, &text, &size), 0);
	close(fd);
	ck_assert_msg(!strncmp(text, HEADER, strlen(HEADER)), "%s", text);
	out = text;
	for (char *line = text + strlen(HEADER), *next; *line; line = next) {
		size_t length = strcspn(line, "\n");

		next = line + length + 1;
		length -= 2 * strlen(",1970-01-01 00:00:00.000000000");
		memmove(out, line, length);
		out += length;
		*out++ = '\n';
	}
	*out = '\0';
	return text;
}

static void write_list(struct iotr_anonymizer *anonymizer, bool last, struct cgroup_file *file)
{
	ck_assert_int_eq(cgroup_file_write(folder.fd, NULL, list, anonymizer, last, file), 0);
}

START_TEST(in_the_clear)
{
	struct cgroup_file file;

	cgroup_list_add(list, 30, 1, 2, "/docker/" ID);
	cgroup_list_add(list, 2, 1, 2, "/a \"b\",\xff/c\\x2dd.service");
	cgroup_list_add(list, 1, 1, 2, "/");
	write_list(NULL, true, &file);
	ck_assert_str_eq(rows_of(CGROUPS_NAME), "1,/,,,\n"
						"2,/a \\x22b\\x22\\x2c\\xff/c\\x5cx2dd.service,c\\x5cx2dd.service,,\n"
						"30,/docker/" ID ",," ID ",\n");
	ck_assert_uint_eq(file.rows, 3);
}
END_TEST

/* Names are hashed; a name of the path has the hash that it has by itself. */
START_TEST(anonymised)
{
	static const uint8_t key[IOTR_ANONYMIZE_KEY_SIZE] = { 1 };
	char unit[IOTR_ANONYMIZED_MAX(16)], container[IOTR_ANONYMIZED_MAX(64)], expected[400];
	struct iotr_anonymizer *anonymizer;
	struct cgroup_file file;
	int units, containers;

	ck_assert_int_eq(iotr_anonymizer_new(key, &anonymizer), 0);
	units = (int)iotr_anonymize(anonymizer, IOTR_PRIVACY_NAME, "nginx.service", 13, unit);
	containers = (int)iotr_anonymize(anonymizer, IOTR_PRIVACY_NAME, ID, 64, container);
	cgroup_list_add(list, 1, 1, 2, "/");
	cgroup_list_add(list, 2, 1, 2, "/nginx.service/" ID);
	write_list(anonymizer, true, &file);
	snprintf(expected, sizeof(expected), "1,/,,,\n2,/%.*s/%.*s,%.*s,%.*s,\n", units, unit, containers, container, units,
		 unit, containers, container);
	ck_assert_str_eq(rows_of(CGROUPS_NAME), expected);
	ck_assert_ptr_null(strstr(text, "nginx"));
	iotr_anonymizer_free(anonymizer);
}
END_TEST

/* While it is written anew it is a part, and as long as there is one, it is whole. */
START_TEST(anew)
{
	struct cgroup_file file;

	cgroup_list_add(list, 1, 1, 2, "/");
	write_list(NULL, false, &file);
	ck_assert(is_there(NAME ".part") && !is_there(NAME));
	cgroup_list_add(list, 2, 1, 2, "/two");
	write_list(NULL, false, &file);
	ck_assert_str_eq(rows_of(CGROUPS_NAME ".part"), "1,/,,,\n2,/two,,,\n");
	write_list(NULL, true, &file);
	ck_assert(is_there(NAME) && !is_there(NAME ".part") && !is_there(NAME ".new.part"));
	cgroup_file_remove(folder.fd);
	ck_assert(!is_there(CGROUPS_FOLDER));
}
END_TEST

/* Many rows, more than a buffer has. */
START_TEST(many)
{
	struct cgroup_file file, recovered;
	struct stat status;

	for (uint64_t id = 1; id <= 40000; id++)
		cgroup_list_add(list, id, 1, 2, "/system.slice/some-quite-long-name-of-a-unit.service");
	write_list(NULL, true, &file);
	ck_assert_int_eq(fstatat(folder.fd, NAME, &status, 0), 0);
	ck_assert_uint_eq(file.bytes, (uint64_t)status.st_size);
	ck_assert_uint_eq(file.rows, 40000);
	ck_assert_int_eq(cgroup_file_recover(folder.fd, &recovered), 0);
	ck_assert_mem_eq(&file, &recovered, sizeof(file));
}
END_TEST

START_TEST(recovered)
{
	struct cgroup_file file, again;

	ck_assert_int_eq(cgroup_file_recover(folder.fd, &again), -ENOENT);
	cgroup_list_add(list, 1, 1, 2, "/");
	write_list(NULL, false, &file);
	close(openat(folder.fd, NAME ".new.part", O_WRONLY | O_CREAT, 0600));
	ck_assert_int_eq(cgroup_file_recover(folder.fd, &again), 0);
	ck_assert_mem_eq(&file, &again, sizeof(file));
	ck_assert(is_there(NAME) && !is_there(NAME ".part") && !is_there(NAME ".new.part"));
	ck_assert_int_eq(cgroup_file_recover(folder.fd, &again), 0);
	ck_assert_mem_eq(&file, &again, sizeof(file));
}
END_TEST

/* A link in a folder of somebody else leads nowhere. */
START_TEST(not_through_a_link)
{
	struct cgroup_file file;

	ck_assert_int_eq(mkdirat(folder.fd, "elsewhere", 0700), 0);
	ck_assert_int_eq(symlinkat("elsewhere", folder.fd, CGROUPS_FOLDER), 0);
	cgroup_list_add(list, 1, 1, 2, "/");
	ck_assert_int_lt(cgroup_file_write(folder.fd, NULL, list, NULL, true, &file), 0);
	ck_assert(!is_there("elsewhere/" CGROUPS_NAME));
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_test(tests, in_the_clear);
	tcase_add_test(tests, anonymised);
	tcase_add_test(tests, anew);
	tcase_add_test(tests, many);
	tcase_add_test(tests, recovered);
	tcase_add_test(tests, not_through_a_link);
}

int main(void)
{
	return run_suite("cgroup_file", add);
}
