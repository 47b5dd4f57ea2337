/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What passes between the daemon and the process that takes a snapshot. */
#pragma once

#include "snapshot.h"

enum {
	HELPER_SOCKET = 3, /* SOCK_SEQPACKET: one struct helper_order in, snapshot_states out */
	HELPER_OUTPUT,	   /* the folder */
	HELPER_TASKS,	   /* struct sampled_task after the other; only for processes */
};

/* Where a file of that kind and number is, below the folder. `which`: below SNAPSHOT_FILES_MAX. */
void helper_path(enum snapshot_kind kind, unsigned int which, uint32_t number, char path[SNAPSHOT_PATH_SIZE]);

/* What is not finished; either side does that when the other is gone. */
void helper_remove_parts(int output_fd, enum snapshot_kind kind, uint32_t number);

struct helper_order {
	char version[32]; /* the program may have been replaced since the daemon began */
	struct snapshot_request request;
};
