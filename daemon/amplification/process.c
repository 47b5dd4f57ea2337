// SPDX-License-Identifier: GPL-2.0-or-later
#include "amplification/process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "amplification/lineage.h"
#include "cleanup.h"
#include "mix.h"

enum {
	BUCKETS = 4096, /* a power of two */
	TRIES = 10,
};

struct known {
	struct process process; /* the first member */
	struct known *next;
	struct processes *owner;
	size_t holders;
	struct iotr_layer_process seen;
	bool settled; /* nothing is left to find out, unless it changes */
	bool own;     /* its system is by what it is itself */
	int tries;    /* to find out where its cgroup is */
};

struct processes {
	struct processes_config config;
	struct known *buckets[BUCKETS];
	size_t unsettled;
};

/* ---- the table ---- */

static struct known *known_of(const struct process *process)
{
	return (struct known *)process;
}

static struct known **bucket_of(struct processes *processes, uint32_t id)
{
	return &processes->buckets[iotr_mix(id, 0) & (BUCKETS - 1)];
}

static struct known *add(struct processes *processes, const struct process *process)
{
	struct known **bucket = bucket_of(processes, process->id), *known = calloc(1, sizeof(*known));

	if (!known)
		return NULL;
	*known = (struct known){ .process = *process, .next = *bucket, .owner = processes, .settled = true };
	*bucket = known;
	return known;
}

static bool same(const struct process *one, const struct process *two)
{
	return one->kind == two->kind && one->id == two->id && one->start_ns == two->start_ns &&
	       one->commands == two->commands &&
	       !strcmp(one->system, two->system) && !strcmp(one->unit, two->unit) &&
	       !strcmp(one->container_id, two->container_id);
}

/* One of those that stand for several processes. */
static const struct process *hold_kind(struct processes *processes, const struct process *kind)
{
	struct known *known = *bucket_of(processes, kind->id);

	while (known && !same(&known->process, kind))
		known = known->next;
	known = known ?: add(processes, kind);
	return known ? process_hold(&known->process) : NULL;
}

const struct process *process_hold(const struct process *process)
{
	known_of(process)->holders++;
	return process;
}

void processes_let_go(struct processes *processes, const struct process *process)
{
	struct known **at = bucket_of(processes, process->id), *known = known_of(process);

	if (--known->holders)
		return;
	while (*at != known)
		at = &(*at)->next;
	*at = known->next;
	processes->unsettled -= !known->settled;
	free(known);
}

const struct process *processes_others(struct processes *processes)
{
	return hold_kind(processes, &(struct process){ .kind = PROCESS_OTHERS });
}

const struct process *processes_ended(struct processes *processes, const struct process *like)
{
	struct process ended = *like;

	if (like->kind != PROCESS_USER)
		return process_hold(like);
	ended.kind = PROCESS_ENDED;
	ended.id = 0;
	ended.start_ns = 0;
	*ended.command = '\0';
	return hold_kind(processes, &ended);
}

void process_set_commands(const struct process *process, uint32_t commands)
{
	known_of(process)->process.commands = commands;
}

void processes_forget_command(struct processes *processes, uint32_t command)
{
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct known *known = processes->buckets[i]; known; known = known->next)
			known->process.commands &= ~command;
}

/* ---- one process ---- */

/* Whether it is another program now, or elsewhere. */
static bool changed(const struct iotr_layer_process *before, const struct iotr_layer_process *now)
{
	return before->cgroup_id != now->cgroup_id || memcmp(before->command, now->command, sizeof(now->command)) != 0 ||
	       memcmp(before->executable, now->executable, sizeof(now->executable)) != 0;
}

static void see(struct known *known, const struct iotr_layer_process *seen)
{
	if (known->seen.start_ns && !changed(&known->seen, seen))
		return;
	known->owner->unsettled += known->settled;
	known->settled = false;
	known->tries = 0;
	known->seen = *seen;
	memcpy(known->process.command, seen->command, sizeof(known->process.command));
	known->process.command[sizeof(known->process.command) - 1] = '\0';
}

const struct process *processes_hold(struct processes *processes, const struct iotr_layer_key *key,
				     const struct iotr_layer_process *seen)
{
	struct known *known = *bucket_of(processes, key->process);

	if (!key->process)
		return hold_kind(processes, &(struct process){ .kind = PROCESS_KERNEL });
	while (known && (known->process.id != key->process || known->process.start_ns != key->start_ns))
		known = known->next;
	if (!known)
		known = add(processes, &(struct process){ .id = key->process, .start_ns = key->start_ns });
	if (!known)
		return NULL;
	if (seen->start_ns == key->start_ns)
		see(known, seen);
	return process_hold(&known->process);
}

/* ---- what it is part of ---- */

/* A process that still runs has a path; of one that has ended only the last component is known. */
static void find_executable(const struct known *known, char path[LINEAGE_PATH])
{
	const char *seen = known->seen.executable, *last;
	size_t length = strnlen(seen, sizeof(known->seen.executable));
	bool cut = length + 1 >= sizeof(known->seen.executable);

	if (!known->seen.exited_ns && lineage_executable(known->owner->config.proc, known->process.id, path)) {
		last = strrchr(path, '/');
		if (last && !strncmp(last + 1, seen, length) && (cut || !last[1 + length]))
			return; /* otherwise it has become another program, or its number is another's */
	}
	snprintf(path, LINEAGE_PATH, "%.*s", cut ? 0 : (int)length, seen);
}

/* Of its cgroup; false: that may yet be known. */
static bool find_cgroup(struct known *known, char *path, size_t size)
{
	const struct processes_config *config = &known->owner->config;
	struct cgroup_identity identity;

	if (!config->cgroup_path || !config->cgroup_path(known->seen.cgroup_id, path, size, config->userdata)) {
		*path = '\0';
		return !config->cgroup_path;
	}
	cgroup_identify(path, &identity);
	memcpy(known->process.unit, identity.unit, sizeof(identity.unit));
	memcpy(known->process.container_id, identity.container_id, sizeof(identity.container_id));
	return true;
}

/* Returns whether all is known that will be. */
static bool find_own(struct known *known)
{
	char path[LINEAGE_PATH], cgroup[LINEAGE_PATH];
	bool found = find_cgroup(known, cgroup, sizeof(cgroup));
	const struct system_identity identity = {
		.executable = path,
		.command = known->process.command,
		.cgroup = cgroup,
		.unit = known->process.unit,
		.container_id = known->process.container_id,
	};
	const char *system;

	find_executable(known, path);
	system = system_rules_find(known->owner->config.rules, &identity);
	if (system)
		snprintf(known->process.system, sizeof(known->process.system), "%s", system);
	else if (known->own)
		*known->process.system = '\0';
	known->own = system;
	return found;
}

/* The process of that number that was there when the child began, NULL if none is known. */
static const struct known *find_parent(struct processes *processes, const struct known *child)
{
	const struct known *found = NULL;

	for (const struct known *known = *bucket_of(processes, child->seen.ppid); known; known = known->next)
		if (known->process.kind == PROCESS_USER && known->process.id == child->seen.ppid &&
		    known->process.start_ns <= child->process.start_ns &&
		    (!found || known->process.start_ns > found->process.start_ns))
			found = known;
	return found;
}

/* The system of its next ancestor that is of one. */
static void inherit(struct processes *processes, struct known *known, struct lineage *lineage)
{
	const struct known *above = known;
	uint32_t parent = known->seen.ppid;

	for (int i = 0; i < LINEAGE_MAX; i++) {
		above = find_parent(processes, above);
		if (!above)
			break;
		if (*above->process.system) {
			memcpy(known->process.system, above->process.system, sizeof(known->process.system));
			return;
		}
		parent = above->seen.ppid;
	}
	lineage_find(lineage, parent, known->process.system);
}

/* What the hierarchy of cgroups tells comes later at times, and never without one: so it is asked for some times only. */
static void settle_own(struct known *known)
{
	if (!find_own(known) && ++known->tries < TRIES)
		return;
	known->settled = true;
	known->owner->unsettled--;
}

void processes_settle(struct processes *processes)
{
	struct lineage lineage = { .proc = processes->config.proc, .rules = processes->config.rules };
	_cleanup_free_ struct known **order = NULL;
	size_t count = 0;

	if (!processes->unsettled)
		return;
	order = malloc(processes->unsettled * sizeof(struct known *));
	if (!order)
		return;
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct known *known = processes->buckets[i]; known; known = known->next)
			if (!known->settled)
				order[count++] = known;
	for (size_t i = 0; i < count; i++)
		settle_own(order[i]);
	/* Parents are known by now, whichever of them was seen first. */
	for (size_t i = 0; i < count; i++)
		if (!*order[i]->process.system)
			inherit(processes, order[i], &lineage);
}

/* ---- life ---- */

int processes_new(const struct processes_config *config, struct processes **ret)
{
	struct processes *processes = calloc(1, sizeof(*processes));

	if (!processes)
		return -ENOMEM;
	processes->config = *config;
	*ret = processes;
	return 0;
}

void processes_free(struct processes *processes)
{
	free(processes);
}
