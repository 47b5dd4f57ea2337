/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What passes between the daemon and the process that takes a snapshot. */
#pragma once

#include "snapshot.h"

enum {
	HELPER_SOCKET = 3, /* SOCK_SEQPACKET: one struct helper_order in, snapshot_states out */
	HELPER_OUTPUT,	   /* the folder */
	HELPER_TASKS,	   /* a file of struct sampled_task, one after the other; only for processes */
};

/* Where a file of that kind and number is, below the folder. `which`: below SNAPSHOT_FILES_MAX. */
void helper_path(enum snapshot_kind kind, unsigned int which, uint32_t number, char path[SNAPSHOT_PATH_SIZE]);

/*
 * The number that tells two snapshots of a kind apart while they are made, when the names of their
 * files do not; 0: they do.
 */
static inline uint32_t helper_attempt(enum snapshot_kind kind, uint32_t number)
{
	return kind == SNAPSHOT_SYSTEM ? number : 0;
}

/* Removes files that are not finished; either process does that when the other has gone. */
void helper_remove_parts(int output_fd, enum snapshot_kind kind, uint32_t number);

struct helper_order {
	char version[32]; /* the program may have been replaced since the daemon began */
	struct snapshot_request request;
};
