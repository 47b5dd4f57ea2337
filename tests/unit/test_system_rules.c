// SPDX-License-Identifier: GPL-2.0-or-later
#include "system_rules.h"

#include <string.h>

#include "suite.h"

#define ID "0b6f9a1c2d3e4f50617283949a0b1c2d3e4f50617283949a0b1c2d3e4f506172"

/* What systems are by themselves, then what only looks like one. */
static const struct {
	struct system_identity identity;
	const char *system;
} rows[] = {
	{ { .executable = "/usr/lib/postgresql/15/bin/postgres", .command = "postgres" }, "PostgreSQL" },
	{ { .executable = "postgres" }, "PostgreSQL" },
	{ { .executable = "/usr/lib/postgresql/15/bin/postgres", .command = "renamed" }, "PostgreSQL" },
	{ { .unit = "postgresql@15-main.service", .executable = "/bin/cp" }, "PostgreSQL" },
	{ { .executable = "/usr/local/bin/minio" }, "MinIO" },
	{ { .executable = "/usr/bin/ceph-osd" }, "Ceph" },
	{ { .unit = "ceph-osd@12.service" }, "Ceph" },
	{ { .executable = "/usr/bin/etcd" }, "etcd" },
	{ { .executable = "/usr/sbin/glusterfsd", .command = "glusterd" }, "GlusterFS" },
	{ { .executable = "/usr/bin/sqlite3" }, "SQLite" },
	{ { .executable = "/usr/sbin/mariadbd" }, "MySQL/MariaDB" },
	{ { .executable = "/usr/sbin/mysqld" }, "MySQL/MariaDB" },
	{ { .executable = "/usr/bin/redis-check-rdb", .command = "redis-server" }, "Redis" },

	{ { .executable = "/usr/lib/postfix/sbin/master", .command = "postfix", .unit = "postfix@-.service" }, NULL },
	{ { .executable = "/usr/bin/postgrest" }, NULL },
	{ { .executable = "/opt/postgres/bin/pgbench", .command = "pgbench" }, NULL },
	{ { .executable = "/opt/postgres/bin/renamed" }, NULL },
	{ { .executable = "/usr/bin/vim", .command = "etcd.conf" }, NULL },
	{ { .executable = "/usr/bin/etcdctl", .command = "etcdctl" }, NULL },
	{ { .executable = "/usr/bin/minio-client" }, NULL },
	{ { .executable = "/usr/bin/redis-check-rdb", .command = "redis-check-rdb" }, NULL },
	{ { .unit = "postgresql@.service.d" }, NULL },
	{ { .unit = "postgresql@.service" }, NULL },
	{ { .unit = "postgresql@15-main.timer" }, NULL },
	{ { .unit = "mypostgresql.service" }, NULL },
	{ { .cgroup = "/postgres", .container_id = ID }, NULL },
	{ { .executable = "", .command = "", .unit = "" }, NULL },
	{ { 0 }, NULL },
};

START_TEST(knows_those_built_in)
{
	const char *system = system_rules_find(NULL, &rows[_i].identity);

	if (rows[_i].system)
		ck_assert_str_eq(system, rows[_i].system);
	else
		ck_assert_ptr_null(system);
}
END_TEST

START_TEST(lists_those_built_in)
{
	static const char *const names[] = { "MinIO",  "Ceph",	       "etcd",	"PostgreSQL", "GlusterFS",
					     "SQLite", "MySQL/MariaDB", "Redis" };

	for (size_t i = 0; i < 8; i++)
		ck_assert_str_eq(system_built_in(i), names[i]);
	ck_assert_ptr_null(system_built_in(8));
}
END_TEST

static const struct {
	enum system_rule_kind kind;
	const char *value;
	struct system_identity yes, no;
} rules_of_each_kind[] = {
	{ SYSTEM_EXECUTABLE, "stored", { .executable = "/a/stored" }, { .executable = "/a/stored2" } },
	{ SYSTEM_EXECUTABLE, "/a/stored", { .executable = "/a/stored" }, { .executable = "/b/stored" } },
	{ SYSTEM_COMMAND, "store", { .command = "store" }, { .command = "stored" } },
	{ SYSTEM_UNIT, "a.service", { .unit = "a.service" }, { .unit = "aa.service" } },
	{ SYSTEM_UNIT, "a@1.service", { .unit = "a@1.service" }, { .unit = "a@2.service" } },
	{ SYSTEM_UNIT, "a@.service", { .unit = "a@2.service" }, { .unit = "a2.service" } },
	{ SYSTEM_CGROUP, "/x/y", { .cgroup = "/x/y" }, { .cgroup = "/x/yz" } },
	{ SYSTEM_CGROUP, "/x/y", { .cgroup = "/x/y/z" }, { .cgroup = "/x" } },
	{ SYSTEM_CGROUP, "/", { .cgroup = "/x" }, { .executable = "/x" } },
	{ SYSTEM_CONTAINER, ID, { .container_id = ID }, { .cgroup = "/docker/" ID } },
};

START_TEST(compares_as_a_whole)
{
	struct system_rules rules = { 0 };

	ck_assert_ptr_null(system_rules_add(&rules, "Store", rules_of_each_kind[_i].kind, rules_of_each_kind[_i].value));
	ck_assert_str_eq(system_rules_find(&rules, &rules_of_each_kind[_i].yes), "Store");
	ck_assert_ptr_null(system_rules_find(&rules, &rules_of_each_kind[_i].no));
}
END_TEST

/* A rule of the configuration takes a process from a system that is built in. */
START_TEST(asks_the_configuration_first)
{
	const struct system_identity identity = { .executable = "/usr/bin/etcd", .unit = "k3s.service" };
	struct system_rules rules = { 0 };

	ck_assert_ptr_null(system_rules_add(&rules, "k3s", SYSTEM_UNIT, "k3s.service"));
	ck_assert_str_eq(system_rules_find(&rules, &identity), "k3s");
	ck_assert_ptr_null(system_rules_add(&rules, "k3s", SYSTEM_UNIT, "k3s.service"));
	ck_assert_uint_eq(rules.count, 1);
	system_rules_remove(&rules, "k3s", SYSTEM_COMMAND);
	ck_assert_uint_eq(rules.count, 1);
	system_rules_remove(&rules, "k3s", SYSTEM_UNIT);
	ck_assert_str_eq(system_rules_find(&rules, &identity), "etcd");
}
END_TEST

START_TEST(refuses_long_values)
{
	char value[SYSTEM_VALUE_SIZE + 1];
	struct system_rules rules = { 0 };

	memset(value, 'a', sizeof(value));
	value[SYSTEM_VALUE_SIZE - 1] = '\0';
	ck_assert_ptr_null(system_rules_add(&rules, "Store", SYSTEM_EXECUTABLE, value));
	value[SYSTEM_VALUE_SIZE - 1] = 'a';
	value[SYSTEM_VALUE_SIZE] = '\0';
	ck_assert_str_eq(system_rules_add(&rules, "Store", SYSTEM_EXECUTABLE, value), "it has more than 255 bytes");
	ck_assert_uint_eq(rules.count, 1);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_loop_test(tests, knows_those_built_in, 0, sizeof(rows) / sizeof(rows[0]));
	tcase_add_test(tests, lists_those_built_in);
	tcase_add_loop_test(tests, compares_as_a_whole, 0, sizeof(rules_of_each_kind) / sizeof(rules_of_each_kind[0]));
	tcase_add_test(tests, asks_the_configuration_first);
	tcase_add_test(tests, refuses_long_values);
}

int main(void)
{
	return run_suite("system_rules", add);
}
