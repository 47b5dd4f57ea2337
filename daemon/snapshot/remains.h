/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a process that takes a snapshot leaves unfinished when it ends by itself or is killed. Main thread. */
#pragma once

#include "snapshot.h"

/* The files of one snapshot that may be there; the descriptors stay the caller's. */
struct remains {
	enum snapshot_kind kind;
	uint32_t number;
	struct rights writes; /* with which they were made */
	int output_fd;	      /* the folder */
	int process;	      /* a pidfd: until that has ended it may make another one */
};

/*
 * Has a thread remove them, as the disk may hang, and the process with it; waits for that, 40 ms at most. False:
 * they cannot be removed.
 */
bool remains_remove(const struct remains *remains);
