// SPDX-License-Identifier: GPL-2.0-or-later
/* Windows over accounts, and the groups that they are summed up to. */
#include "amplification/group.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folder.h"
#include "suite.h"

static struct processes *processes;
static struct window *window;
static struct folder sys;

static void set_up(void)
{
	const struct processes_config config = { .proc = "/nonexistent" };

	folder_begin(&sys);
	ck_assert_int_eq(processes_new(&config, &processes), 0);
	ck_assert_int_eq(window_new(processes, &window), 0);
}

static void tear_down(void)
{
	window_free(window);
	processes_free(processes);
	folder_end(&sys);
}

/* The account has written so many bytes so far. */
static void count(uint32_t id, const char *program, uint32_t device, uint64_t bytes, bool last)
{
	const struct iotr_layer_key key = { .process = id, .start_ns = id, .device = device };
	struct iotr_layer_process seen = { .start_ns = key.start_ns };
	struct counts counts = { 0 };
	const struct process *process;

	strncpy(seen.command, program, sizeof(seen.command) - 1);
	strncpy(seen.executable, program, sizeof(seen.executable) - 1);
	counts.sums[IOTR_LAYER_APP_WRITE] = (struct iotr_layer_sum){ .operations = 1, .bytes = bytes };
	counts.latency[IOTR_LAYER_APP_WRITE][3] = 1;
	process = processes_hold(processes, &key, &seen);
	ck_assert_ptr_nonnull(process);
	window_add(window, &key, process, &counts, last);
	processes_let_go(processes, process);
	processes_settle(processes);
	window_tidy(window);
}

static struct group_list list_by(enum group_by by)
{
	const struct group_wish wish = { .by = by, .sys = sys.path };
	struct group_list list;

	ck_assert_int_eq(group_window(window, &wish, &list), 0);
	return list;
}

static void is(const struct group_list *list, size_t at, enum group_kind kind, const char *name, uint64_t bytes)
{
	ck_assert_uint_gt(list->count, at);
	ck_assert_int_eq(list->groups[at].kind, kind);
	ck_assert_str_eq(list->groups[at].name, name);
	ck_assert_uint_eq(list->groups[at].counts.sums[IOTR_LAYER_APP_WRITE].bytes, bytes);
}

START_TEST(sums_up)
{
	struct group_list list;

	window_begin(window);
	count(1, "postgres", 1, 100, false);
	count(1, "postgres", 2, 50, false);
	count(2, "postgres", 1, 10, false);
	count(3, "etcd", 1, 500, false);
	count(4, "cp", 1, 9000, false);
	count(0, "", 1, 7, false);
	list = list_by(GROUP_BY_SYSTEM);
	ck_assert_uint_eq(list.count, 4);
	is(&list, 0, GROUP_NAMED, "etcd", 500);
	is(&list, 1, GROUP_NAMED, "PostgreSQL", 160);
	is(&list, 2, GROUP_NONE, "", 9000);
	is(&list, 3, GROUP_KERNEL, "", 7);
	ck_assert_uint_eq(list.all.sums[IOTR_LAYER_APP_WRITE].bytes, 9667);
	ck_assert_uint_eq(list.groups[1].counts.latency[IOTR_LAYER_APP_WRITE][3], 3);
	group_list_done(&list);
	list = list_by(GROUP_BY_PROCESS);
	ck_assert_uint_eq(list.count, 5);
	is(&list, 0, GROUP_NAMED, "cp", 9000);
	is(&list, 2, GROUP_NAMED, "postgres", 150);
	ck_assert_uint_eq(list.groups[2].process->id, 1);
	group_list_done(&list);
	list = list_by(GROUP_BY_CONTAINER);
	ck_assert_uint_eq(list.count, 2);
	is(&list, 0, GROUP_NONE, "", 9660);
	group_list_done(&list);
}
END_TEST

/* By a device, what the kernel does is that device's. */
START_TEST(sums_up_devices)
{
	struct group_list list;

	window_begin(window);
	count(1, "postgres", 7 << 20 | 1, 100, false);
	count(0, "", 7 << 20 | 1, 11, false);
	count(0, "", 7 << 20 | 2, 1, false);
	list = list_by(GROUP_BY_DEVICE);
	ck_assert_uint_eq(list.count, 2);
	is(&list, 0, GROUP_NAMED, "7:1", 111);
	is(&list, 1, GROUP_NAMED, "7:2", 1);
	ck_assert_uint_eq(list.groups[0].device, 7 << 20 | 1);
	group_list_done(&list);
}
END_TEST

static void make_link(const char *name, const char *to)
{
	ck_assert_int_eq(symlinkat(to, sys.fd, name), 0);
}

/* A partition, and a device mapped to it, are of one disk; one that is mapped to two disks is of neither. */
START_TEST(finds_the_disk)
{
	struct group_list list;

	folder_put(&sys, "dev/block/none", "");
	folder_put(&sys, "dm-0/slaves/.none", "");
	folder_put(&sys, "dm-1/slaves/.none", "");
	folder_put(&sys, "vda/dev", "254:0\n");
	folder_put(&sys, "vda/vda1/dev", "254:1\n");
	folder_put(&sys, "vda/vda1/partition", "1\n");
	make_link("dm-0/slaves/vda1", "../../vda/vda1");
	make_link("dm-1/slaves/vda", "../../vda");
	make_link("dm-1/slaves/dm-0", "../../dm-0");
	make_link("dev/block/254:0", "../../vda");
	make_link("dev/block/254:1", "../../vda/vda1");
	make_link("dev/block/253:0", "../../dm-0");
	make_link("dev/block/253:1", "../../dm-1");
	window_begin(window);
	count(1, "cp", 254 << 20, 1, false);
	count(1, "cp", 254 << 20 | 1, 10, false);
	count(1, "cp", 253 << 20, 100, false);
	count(1, "cp", 253 << 20 | 1, 1000, false);
	list = list_by(GROUP_BY_DEVICE);
	ck_assert_uint_eq(list.count, 2);
	is(&list, 0, GROUP_NAMED, "dm-1", 1000);
	is(&list, 1, GROUP_NAMED, "vda", 111);
	ck_assert_uint_eq(list.groups[1].device, 254 << 20);
	group_list_done(&list);
}
END_TEST

START_TEST(chooses_systems)
{
	static const char *const systems[] = { "postgresql", "Redis" };
	const struct group_wish wish = { .by = GROUP_BY_PROCESS, .systems = systems, .system_count = 2, .sys = "" };
	struct group_list list;

	window_begin(window);
	count(1, "postgres", 1, 100, false);
	count(2, "etcd", 1, 10, false);
	count(0, "", 1, 1, false);
	ck_assert_int_eq(group_window(window, &wish, &list), 0);
	ck_assert_uint_eq(list.count, 1);
	is(&list, 0, GROUP_NAMED, "postgres", 100);
	ck_assert_uint_eq(list.all.sums[IOTR_LAYER_APP_WRITE].bytes, 100);
	group_list_done(&list);
}
END_TEST

START_TEST(begins_with_nothing)
{
	struct group_list list;

	count(1, "postgres", 1, 100, false);
	count(2, "etcd", 1, 30, false);
	count(3, "cp", 1, 30, true);
	window_begin(window);
	list = list_by(GROUP_BY_SYSTEM);
	ck_assert_uint_eq(list.count, 0);
	group_list_done(&list);
	count(1, "postgres", 1, 110, false);
	count(2, "etcd", 1, 20, false); /* the kernel takes back what it has counted too much */
	list = list_by(GROUP_BY_SYSTEM);
	ck_assert_uint_eq(list.count, 1);
	is(&list, 0, GROUP_NAMED, "PostgreSQL", 10);
	group_list_done(&list);
}
END_TEST

/* What ended processes have done is never forgotten, however many they are. */
START_TEST(keeps_what_has_ended)
{
	const uint32_t processes_count = 3 * WINDOW_ENDED_MAX;
	struct group_list list;

	window_begin(window);
	for (uint32_t i = 1; i <= processes_count; i++)
		count(i, i % 3 ? "cp" : "postgres", 1 + i % 2, 10, true);
	list = list_by(GROUP_BY_SYSTEM);
	ck_assert_uint_eq(list.count, 2);
	is(&list, 0, GROUP_NAMED, "PostgreSQL", 10 * (processes_count / 3));
	is(&list, 1, GROUP_NONE, "", 10 * (processes_count - processes_count / 3));
	group_list_done(&list);
	list = list_by(GROUP_BY_PROCESS);
	ck_assert_uint_le(list.count, WINDOW_ENDED_MAX + 4);
	group_list_done(&list);
	ck_assert(window_whole(window));
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, sums_up);
	tcase_add_test(tests, sums_up_devices);
	tcase_add_test(tests, finds_the_disk);
	tcase_add_test(tests, chooses_systems);
	tcase_add_test(tests, begins_with_nothing);
	tcase_add_test(tests, keeps_what_has_ended);
}

int main(void)
{
	return run_suite("window", add);
}
