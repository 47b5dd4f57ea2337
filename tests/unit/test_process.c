// SPDX-License-Identifier: GPL-2.0-or-later
/* Which system, unit and container processes are part of, by a procfs of files. */
#include "amplification/process.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folder.h"
#include "suite.h"

#define ID "0b6f9a1c2d3e4f50617283949a0b1c2d3e4f50617283949a0b1c2d3e4f506172"

static struct folder folder;
static struct system_rules rules;
static struct processes *processes;
static const struct process *held[16];
static size_t held_count;
static int cgroup_questions;

/* Cgroup 7 is a container, 8 a service, 9 is not known. */
static bool cgroup_path(uint64_t id, char *path, size_t size, void *userdata)
{
	(void)userdata;
	cgroup_questions++;
	snprintf(path, size, "%s", id == 7 ? "/docker/" ID : "/system.slice/store.service");
	return id == 7 || id == 8;
}

static void set_up(void)
{
	struct processes_config config = { .rules = &rules, .cgroup_path = cgroup_path };

	folder_begin(&folder);
	config.proc = folder.path;
	rules = (struct system_rules){ 0 };
	held_count = 0;
	cgroup_questions = 0;
	ck_assert_int_eq(processes_new(&config, &processes), 0);
}

static void let_go(size_t from)
{
	while (held_count > from)
		processes_let_go(processes, held[--held_count]);
}

static void tear_down(void)
{
	let_go(0);
	processes_free(processes);
	folder_end(&folder);
}

static void put(uint32_t id, const char *name, const char *text)
{
	char path[64];

	snprintf(path, sizeof(path), "%u/%s", id, name);
	folder_put(&folder, path, text);
}

/* A process that is there. */
static void live(uint32_t id, uint32_t parent, const char *command, const char *executable, const char *cgroup)
{
	char text[256];

	snprintf(text, sizeof(text), "%u (%s) S %u 1 1 0", id, command, parent);
	put(id, "stat", text);
	snprintf(text, sizeof(text), "1:cpu:/x\n0::%s\n", cgroup);
	put(id, "cgroup", text);
	snprintf(text, sizeof(text), "%u/exe", id);
	ck_assert_int_eq(symlinkat(executable, folder.fd, text), 0);
}

/* What the kernel tells of a process with an account. */
static const struct process *see(uint32_t id, uint32_t parent, const char *command, const char *executable, uint64_t cgroup)
{
	const struct iotr_layer_key key = { .process = id, .start_ns = 1000 + id };
	struct iotr_layer_process seen = { .start_ns = key.start_ns, .ppid = parent, .cgroup_id = cgroup };
	const struct process *process;

	memcpy(seen.command, command, strnlen(command, sizeof(seen.command)));
	memcpy(seen.executable, executable, strnlen(executable, sizeof(seen.executable)));
	process = processes_hold(processes, &key, &seen);
	ck_assert_ptr_nonnull(process);
	held[held_count++] = process;
	return process;
}

static const char *system_of(const struct process *process)
{
	processes_settle(processes);
	return process->system;
}

START_TEST(knows_what_it_is_itself)
{
	live(10, 1, "postgres", "/usr/lib/postgresql/15/bin/postgres (deleted)", "/");
	ck_assert_str_eq(system_of(see(10, 1, "postgres", "postgres", 9)), "PostgreSQL");
	live(11, 1, "master", "/usr/lib/postfix/sbin/master", "/");
	ck_assert_str_eq(system_of(see(11, 1, "postfix", "master", 9)), "");
	live(12, 1, "renamed", "/usr/bin/etcd", "/");
	ck_assert_str_eq(system_of(see(12, 1, "renamed", "etcd", 9)), "etcd");
	/* It has ended before it was looked at; 14 is another process by now. */
	ck_assert_str_eq(system_of(see(13, 1, "sh", "sqlite3", 9)), "SQLite");
	live(14, 1, "etcd", "/usr/bin/etcd", "/");
	ck_assert_str_eq(system_of(see(14, 1, "cp", "cp", 9)), "");
}
END_TEST

START_TEST(follows_rules_of_the_configuration)
{
	ck_assert_ptr_null(system_rules_add(&rules, "Path", SYSTEM_EXECUTABLE, "/opt/store"));
	ck_assert_ptr_null(system_rules_add(&rules, "Box", SYSTEM_CONTAINER, ID));
	ck_assert_ptr_null(system_rules_add(&rules, "Unit", SYSTEM_UNIT, "store.service"));
	live(10, 1, "store", "/opt/store", "/");
	live(11, 1, "store", "/usr/store", "/");
	ck_assert_str_eq(system_of(see(10, 1, "store", "store", 9)), "Path");
	ck_assert_str_eq(system_of(see(11, 1, "store", "store", 9)), "");
	ck_assert_str_eq(system_of(see(12, 1, "x", "x", 7)), "Box");
	ck_assert_str_eq(held[2]->container_id, ID);
	ck_assert_str_eq(system_of(see(13, 1, "x", "x", 8)), "Unit");
	ck_assert_str_eq(held[3]->unit, "store.service");
}
END_TEST

/* cp and the shell above it are seen before the server, whose children they are. */
START_TEST(gives_children_the_system)
{
	const struct process *copy = see(22, 21, "cp", "cp", 9), *shell = see(21, 20, "sh", "dash", 9);
	const struct process *server = see(20, 1, "postgres", "postgres", 9);

	processes_settle(processes);
	ck_assert_str_eq(server->system, "PostgreSQL");
	ck_assert_str_eq(shell->system, "PostgreSQL");
	ck_assert_str_eq(copy->system, "PostgreSQL");
	/* One of a system of its own is of that. */
	ck_assert_str_eq(system_of(see(23, 21, "redis-server", "redis-check-rdb", 9)), "Redis");
}
END_TEST

/* The parents have no accounts, as they do no I/O. */
START_TEST(looks_at_ancestors)
{
	live(1, 0, "init", "/sbin/init", "/init.scope");
	live(30, 1, "odd) R 9 (", "/usr/bin/minio", "/");
	live(31, 30, "sh", "/bin/sh", "/");
	live(32, 1, "sh", "/bin/sh", "/system.slice/etcd.service");
	live(33, 1, "sh", "/bin/sh", "/system.slice/etcd2.service");
	ck_assert_str_eq(system_of(see(40, 31, "cp", "cp", 9)), "MinIO");
	ck_assert_str_eq(system_of(see(41, 32, "cp", "cp", 9)), "etcd");
	ck_assert_str_eq(system_of(see(42, 33, "cp", "cp", 9)), "");
	ck_assert_str_eq(system_of(see(43, 99, "cp", "cp", 9)), "");
}
END_TEST

START_TEST(changes_with_the_program)
{
	const struct process *process = see(50, 1, "sh", "dash", 9);

	ck_assert_str_eq(system_of(process), "");
	see(50, 1, "etcd", "etcd", 9);
	ck_assert_str_eq(system_of(process), "etcd");
	ck_assert_str_eq(process->command, "etcd");
	see(50, 1, "cp", "cp", 8);
	ck_assert_str_eq(system_of(process), "");
	ck_assert_str_eq(process->unit, "store.service");
}
END_TEST

/* A cgroup may be known later, and is not asked for for ever. */
START_TEST(asks_for_a_cgroup_some_times)
{
	see(60, 1, "cp", "cp", 9);
	for (int i = 0; i < 100; i++)
		processes_settle(processes);
	ck_assert_int_gt(cgroup_questions, 1);
	ck_assert_int_lt(cgroup_questions, 20);
}
END_TEST

/* The number of an ended process is used anew; its child is of the one that was its parent. */
START_TEST(tells_numbers_used_anew_apart)
{
	const struct iotr_layer_key second = { .process = 20, .start_ns = 9000 };
	struct iotr_layer_process seen = { .start_ns = 9000, .ppid = 1, .command = "sh", .executable = "dash" };

	see(20, 1, "postgres", "postgres", 9);
	held[held_count++] = processes_hold(processes, &second, &seen);
	ck_assert_str_eq(system_of(held[1]), "");
	ck_assert_str_eq(system_of(see(22, 20, "cp", "cp", 9)), "PostgreSQL");
}
END_TEST

START_TEST(has_some_that_stand_for_many)
{
	const struct iotr_layer_key none = { .device = 5 };
	const struct iotr_layer_process nobody = { 0 };
	const struct process *one = see(20, 1, "postgres", "postgres", 8), *two = see(21, 1, "postgres", "postgres", 8);

	processes_settle(processes);
	held[held_count++] = processes_hold(processes, &none, &nobody);
	ck_assert_int_eq(held[2]->kind, PROCESS_KERNEL);
	held[held_count++] = processes_others(processes);
	ck_assert_int_eq(held[3]->kind, PROCESS_OTHERS);
	held[held_count++] = processes_ended(processes, one);
	held[held_count++] = processes_ended(processes, two);
	ck_assert_ptr_eq(held[4], held[5]);
	ck_assert_int_eq(held[4]->kind, PROCESS_ENDED);
	ck_assert_str_eq(held[4]->system, "PostgreSQL");
	ck_assert_str_eq(held[4]->unit, "store.service");
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, knows_what_it_is_itself);
	tcase_add_test(tests, follows_rules_of_the_configuration);
	tcase_add_test(tests, gives_children_the_system);
	tcase_add_test(tests, looks_at_ancestors);
	tcase_add_test(tests, changes_with_the_program);
	tcase_add_test(tests, asks_for_a_cgroup_some_times);
	tcase_add_test(tests, tells_numbers_used_anew_apart);
	tcase_add_test(tests, has_some_that_stand_for_many);
}

int main(void)
{
	return run_suite("process", add);
}
