// SPDX-License-Identifier: GPL-2.0-or-later
#include "system_rules.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define LETTERS		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
#define UNIT_CHARACTERS LETTERS ":-_.\\@"
#define HEX		"0123456789abcdef"

enum { COMMAND_MAX = 15, CONTAINER_LENGTH = 64 };

static const char *const keys[SYSTEM_RULE_KINDS] = {
	[SYSTEM_EXECUTABLE] = "Executable",
	[SYSTEM_COMMAND] = "Command",
	[SYSTEM_UNIT] = "Unit",
	[SYSTEM_CGROUP] = "Cgroup",
	[SYSTEM_CONTAINER] = "Container",
};

/* ---- what is built in ---- */

struct built_in {
	const char *system;
	enum system_rule_kind kind;
	const char *value;
};

/*
 * The programs as their makers call them, and the units as these or Debian do. Debian's redis-server is a link to
 * redis-check-rdb, which is the executable that the kernel knows, and so has a rule for its command. A program that has
 * the library of SQLite within it is another program: for that there are rules in the configuration.
 */
static const struct built_in built_in[] = {
	{ "MinIO", SYSTEM_EXECUTABLE, "minio" },
	{ "MinIO", SYSTEM_UNIT, "minio.service" },
	{ "Ceph", SYSTEM_EXECUTABLE, "ceph-osd" },
	{ "Ceph", SYSTEM_EXECUTABLE, "ceph-mon" },
	{ "Ceph", SYSTEM_EXECUTABLE, "ceph-mds" },
	{ "Ceph", SYSTEM_EXECUTABLE, "ceph-mgr" },
	{ "Ceph", SYSTEM_EXECUTABLE, "radosgw" },
	{ "Ceph", SYSTEM_UNIT, "ceph-osd@.service" },
	{ "Ceph", SYSTEM_UNIT, "ceph-mon@.service" },
	{ "Ceph", SYSTEM_UNIT, "ceph-mds@.service" },
	{ "Ceph", SYSTEM_UNIT, "ceph-mgr@.service" },
	{ "Ceph", SYSTEM_UNIT, "ceph-radosgw@.service" },
	{ "etcd", SYSTEM_EXECUTABLE, "etcd" },
	{ "etcd", SYSTEM_UNIT, "etcd.service" },
	{ "PostgreSQL", SYSTEM_EXECUTABLE, "postgres" },
	{ "PostgreSQL", SYSTEM_UNIT, "postgresql.service" },
	{ "PostgreSQL", SYSTEM_UNIT, "postgresql@.service" },
	{ "GlusterFS", SYSTEM_EXECUTABLE, "glusterfsd" },
	{ "GlusterFS", SYSTEM_EXECUTABLE, "glusterd" },
	{ "GlusterFS", SYSTEM_EXECUTABLE, "glusterfs" },
	{ "GlusterFS", SYSTEM_UNIT, "glusterd.service" },
	{ "SQLite", SYSTEM_EXECUTABLE, "sqlite3" },
	{ "MySQL/MariaDB", SYSTEM_EXECUTABLE, "mysqld" },
	{ "MySQL/MariaDB", SYSTEM_EXECUTABLE, "mariadbd" },
	{ "MySQL/MariaDB", SYSTEM_UNIT, "mysql.service" },
	{ "MySQL/MariaDB", SYSTEM_UNIT, "mysqld.service" },
	{ "MySQL/MariaDB", SYSTEM_UNIT, "mariadb.service" },
	{ "MySQL/MariaDB", SYSTEM_UNIT, "mariadb@.service" },
	{ "Redis", SYSTEM_EXECUTABLE, "redis-server" },
	{ "Redis", SYSTEM_COMMAND, "redis-server" },
	{ "Redis", SYSTEM_UNIT, "redis.service" },
	{ "Redis", SYSTEM_UNIT, "redis-server.service" },
	{ "Redis", SYSTEM_UNIT, "redis-server@.service" },
};

#define BUILT_IN (sizeof(built_in) / sizeof(built_in[0]))

const char *system_built_in(size_t at)
{
	for (size_t i = 0; i < BUILT_IN; i++)
		if (!i || strcmp(built_in[i].system, built_in[i - 1].system) != 0)
			if (!at--)
				return built_in[i].system;
	return NULL;
}

/* ---- comparisons ---- */

static const char *last_component(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_executable(const char *value, const char *executable)
{
	return !strcmp(value, *value == '/' ? executable : last_component(executable));
}

/* A template is all before the instance and all after it: a@.service of a@1.service. */
static bool is_unit(const char *value, const char *unit)
{
	const char *at = strchr(value, '@'), *type = strrchr(unit, '.');
	size_t before;

	if (!at || at[1] != '.')
		return !strcmp(value, unit);
	before = (size_t)(at + 1 - value);
	return type && type > unit + before && !strncmp(value, unit, before) && !strcmp(at + 1, type);
}

static bool is_inside(const char *value, const char *cgroup)
{
	size_t length = strlen(value);

	if (length == 1) /* the root, which all are below */
		return true;
	return !strncmp(value, cgroup, length) && (!cgroup[length] || cgroup[length] == '/');
}

static bool fits(enum system_rule_kind kind, const char *value, const struct system_identity *identity)
{
	const char *known[] = {
		[SYSTEM_EXECUTABLE] = identity->executable, [SYSTEM_COMMAND] = identity->command,
		[SYSTEM_UNIT] = identity->unit,		    [SYSTEM_CGROUP] = identity->cgroup,
		[SYSTEM_CONTAINER] = identity->container_id,
	};

	if (!known[kind] || !*known[kind])
		return false;
	switch (kind) {
	case SYSTEM_EXECUTABLE:
		return is_executable(value, known[kind]);
	case SYSTEM_UNIT:
		return is_unit(value, known[kind]);
	case SYSTEM_CGROUP:
		return is_inside(value, known[kind]);
	default:
		return !strcmp(value, known[kind]);
	}
}

const char *system_rules_find(const struct system_rules *rules, const struct system_identity *identity)
{
	for (size_t i = 0; rules && i < rules->count; i++)
		if (fits(rules->rules[i].kind, rules->rules[i].value, identity))
			return rules->rules[i].system;
	for (size_t i = 0; i < BUILT_IN; i++)
		if (fits(built_in[i].kind, built_in[i].value, identity))
			return built_in[i].system;
	return NULL;
}

/* ---- rules of the configuration ---- */

const char *system_rule_key(enum system_rule_kind kind)
{
	return keys[kind];
}

static bool consists_of(const char *text, const char *characters)
{
	return *text && !text[strspn(text, characters)];
}

bool system_name_valid(const char *name)
{
	return strlen(name) < SYSTEM_NAME_SIZE && consists_of(name, LETTERS " ._-/") && *name != ' ';
}

static const char *check_executable(const char *value)
{
	if (*value != '/' && strchr(value, '/'))
		return "it is neither an absolute path nor the name of a program alone";
	return *last_component(value) ? NULL : "it is a folder";
}

static const char *check_unit(const char *value)
{
	const char *type = strrchr(value, '.');

	if (!consists_of(value, UNIT_CHARACTERS) || *value == '@' || *value == '.')
		return "it is no unit's name";
	return type && type[1] ? NULL : "a unit's name has its type at the end, as in a.service";
}

static const char *check_cgroup(const char *value)
{
	size_t length = strlen(value);

	if (*value != '/')
		return "the path does not begin with /, the root of the hierarchy of cgroups";
	return length > 1 && value[length - 1] == '/' ? "the path ends with /" : NULL;
}

static const char *check(enum system_rule_kind kind, const char *value)
{
	if (strlen(value) >= SYSTEM_VALUE_SIZE)
		return "it has more than 255 bytes";
	switch (kind) {
	case SYSTEM_EXECUTABLE:
		return check_executable(value);
	case SYSTEM_COMMAND:
		return strlen(value) > COMMAND_MAX ? "the kernel keeps 15 bytes of a command name, and this has more" : NULL;
	case SYSTEM_UNIT:
		return check_unit(value);
	case SYSTEM_CGROUP:
		return check_cgroup(value);
	default:
		return strlen(value) == CONTAINER_LENGTH && consists_of(value, HEX)
			       ? NULL
			       : "it is not the full id of a container, 64 hex digits";
	}
}

static bool is_rule(const struct system_rule *rule, const char *system, enum system_rule_kind kind)
{
	return rule->kind == kind && !strcmp(rule->system, system);
}

const char *system_rules_add(struct system_rules *rules, const char *system, enum system_rule_kind kind,
			     const char *value)
{
	const char *wrong = check(kind, value);
	struct system_rule *rule;

	if (wrong)
		return wrong;
	for (size_t i = 0; i < rules->count; i++)
		if (is_rule(&rules->rules[i], system, kind) && !strcmp(rules->rules[i].value, value))
			return NULL;
	if (rules->count == SYSTEM_RULES_MAX)
		return "there are 128 rules for systems already";
	rule = &rules->rules[rules->count++];
	rule->kind = kind;
	snprintf(rule->system, sizeof(rule->system), "%s", system);
	snprintf(rule->value, sizeof(rule->value), "%s", value);
	return NULL;
}

void system_rules_remove(struct system_rules *rules, const char *system, enum system_rule_kind kind)
{
	size_t kept = 0;

	for (size_t i = 0; i < rules->count; i++)
		if (!is_rule(&rules->rules[i], system, kind))
			rules->rules[kept++] = rules->rules[i];
	memset(&rules->rules[kept], 0, (rules->count - kept) * sizeof(rules->rules[0]));
	rules->count = kept;
}
