/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What procfs tells of a process and those above it. A process may end at any time: then nothing is found. Any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "system_rules.h"

enum {
	LINEAGE_PATH = 4096, /* bytes of a path, with a NUL */
	LINEAGE_MAX = 64,    /* generations that are looked at */
};

/* For questions at about the same time; all-zero but for the first two, which the caller sets. */
struct lineage {
	const char *proc; /* where procfs is mounted */
	const struct system_rules *rules;
	struct lineage_answer {
		uint32_t process;
		char system[SYSTEM_NAME_SIZE];
	} answers[LINEAGE_MAX];
	size_t count;
};

/* Path of the program that the process runs, also when its file has been replaced. */
bool lineage_executable(const char *proc, uint32_t process, char path[LINEAGE_PATH]);

/* The system of the process, or of the next one above it that is of one; "" if there is none. */
void lineage_find(struct lineage *lineage, uint32_t process, char system[SYSTEM_NAME_SIZE]);
