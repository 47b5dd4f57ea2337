/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes that accounts are of: which storage system, unit and container each one is part of. A process that is none
 * of a system by itself is of that of its parent, and so are its children when the parent has ended. What has ended is
 * kept as long as somebody holds it. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "layer_counts.h"
#include "pipeline/cgroups/identity.h"
#include "system_rules.h"

enum process_kind {
	PROCESS_USER,
	PROCESS_KERNEL, /* what no process is known for */
	PROCESS_OTHERS, /* processes for which there was no room */
	PROCESS_ENDED,	/* several that have ended, and are of the same system, unit, container and commands */
};

struct process {
	enum process_kind kind;
	uint32_t id;	   /* tgid; 0 for other kinds */
	uint64_t start_ns; /* as in struct iotr_layer_key */
	char command[IOTR_LAYER_COMMAND];
	char system[SYSTEM_NAME_SIZE]; /* "": of none */
	char unit[CGROUP_UNIT_SIZE];
	char container_id[CGROUP_CONTAINER_SIZE];
	uint32_t commands; /* that it is of, as bits; see layers_follow() */
};

struct processes;

struct processes_config {
	const char *proc; /* where procfs is mounted */
	const struct system_rules *rules; /* may change between calls */
	/* Writes the path of a cgroup into `path`, of `size` bytes; false: it is not known, or not yet. May be NULL. */
	bool (*cgroup_path)(uint64_t id, char *path, size_t size, void *userdata);
	void *userdata;
};

/* What is in the config must outlive it, but for the struct itself. */
int processes_new(const struct processes_config *config, struct processes **ret);

/* All that is held must have been let go. Takes NULL. */
void processes_free(struct processes *processes);

/*
 * The process of an account, held for the caller; NULL without memory. `seen`: what the kernel has just told of it, all 0
 * if nothing. Its system is final only after processes_settle().
 */
const struct process *processes_hold(struct processes *processes, const struct iotr_layer_key *key,
				     const struct iotr_layer_process *seen);
void processes_let_go(struct processes *processes, const struct process *process);

/* The one that stands for accounts of processes without room, and that of ended ones like this; held likewise. */
const struct process *processes_others(struct processes *processes);
const struct process *processes_ended(struct processes *processes, const struct process *like);

/* Holds it once more. */
const struct process *process_hold(const struct process *process);

/* Says which commands the process is of, and that a command is none any more. */
void process_set_commands(const struct process *process, uint32_t commands);
void processes_forget_command(struct processes *processes, uint32_t command);

/* To be called after all processes that were there at one time: finds what is not known of them yet. */
void processes_settle(struct processes *processes);
