/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a storage system (PostgreSQL, etcd, ...) is recognised by: rules that are built in, and those of iotracerd.conf.
 * Each compares one thing that is known of a process as a whole, never a part of it. Pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum {
	SYSTEM_NAME_SIZE = 32,	 /* with a NUL */
	SYSTEM_VALUE_SIZE = 256, /* likewise */
	SYSTEM_RULES_MAX = 128,	 /* in the configuration */
};

enum system_rule_kind {
	SYSTEM_EXECUTABLE, /* absolute path of the program that runs, or its last component */
	SYSTEM_COMMAND,	   /* the first thread's command name, of at most 15 bytes */
	SYSTEM_UNIT,	   /* the systemd unit; a template, as a@.service, stands for all its instances */
	SYSTEM_CGROUP,	   /* path in the hierarchy of cgroups v2, with all below it */
	SYSTEM_CONTAINER,  /* id of the container: 64 hex digits */
	SYSTEM_RULE_KINDS,
};

struct system_rule {
	enum system_rule_kind kind;
	char system[SYSTEM_NAME_SIZE];
	char value[SYSTEM_VALUE_SIZE];
};

struct system_rules {
	size_t count;
	struct system_rule rules[SYSTEM_RULES_MAX];
};

/* The key of a kind in iotracerd.conf. */
const char *system_rule_key(enum system_rule_kind kind);

/* Whether this can be the name of a system: letters, digits, space and "._-/", of which the first is no space. */
bool system_name_valid(const char *name);

/* Adds a rule, or does nothing if it is there. Returns NULL, or what is wrong with the value, as a clause. */
const char *system_rules_add(struct system_rules *rules, const char *system, enum system_rule_kind kind,
			     const char *value);

/* Removes the rules of one kind of the system. */
void system_rules_remove(struct system_rules *rules, const char *system, enum system_rule_kind kind);

/* What is known of a process; NULL or "": that is not known. */
struct system_identity {
	const char *executable;	  /* path, or last component */
	const char *command;
	const char *cgroup;
	const char *unit;
	const char *container_id;
};

/*
 * The system that the process is part of by what it is itself, or NULL. Rules of the configuration (NULL: none) are asked
 * in their order, before those that are built in. The name lives as long as the rules.
 */
const char *system_rules_find(const struct system_rules *rules, const struct system_identity *identity);

/* The built-in system at this place, NULL after the last. */
const char *system_built_in(size_t at);
