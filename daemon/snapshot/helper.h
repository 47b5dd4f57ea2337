/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What passes between the daemon and the process that takes a snapshot. */
#pragma once

#include "snapshot.h"

enum {
	HELPER_SOCKET = 3, /* SOCK_SEQPACKET: one struct helper_order in, snapshot_states out */
	HELPER_OUTPUT,	   /* the folder */
	HELPER_TASKS,	   /* a file of struct sampled_task, one after the other; only for processes */
};

struct helper_order {
	char version[32]; /* the program may have been replaced since the daemon began */
	struct snapshot_request request;
};
