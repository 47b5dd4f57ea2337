/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process of selftest.h as the daemon has it: started by a unit, outside of the service's confinement, or its child where no
 * such unit listens. Main thread; errors are a negative errno.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct selftest_process {
	pid_t pid;	/* 0: not known yet, as it has not said so */
	bool child;
	uint32_t uid;
	int pidfd;	/* readable when it has ended */
	int go, notes;	/* the ends of its standard input and output; the latter does not wait */
	int outside;	/* readable when it has come to its beginning outside, or has failed to */
};

#define SELFTEST_PROCESS_NONE { .pidfd = -1, .go = -1, .notes = -1, .outside = -1 }

/* Starts it, to work in the folder. A child is there at once; of one outside, selftest_process_meet() tells more. */
int selftest_process_start(struct selftest_process *process, const char *folder);

/* Takes from `outside` who it is, and closes that. */
int selftest_process_meet(struct selftest_process *process);

/* Ends it by force, if it has not ended. */
void selftest_process_stop(struct selftest_process *process);

/* The same, and closes the descriptors. */
void selftest_process_end(struct selftest_process *process);
