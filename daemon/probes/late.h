/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Groups of programs that the kernel takes tens or hundreds of milliseconds to attach, and which only tell more of rows that others
 * make: a thread attaches them, so that who starts a session does not wait for it. Main thread.
 */
#pragma once

#include <stdbool.h>

#include "probes/probes_private.h"

/* A hook that a thread has attached. */
struct late_hook {
	struct bpf_program *program;
	int result; /* descriptor, or a negative errno */
};

/* Starts the thread for the group. False: the group is none of those, or there is no thread, and the caller attaches it himself. */
bool late_begin(struct probes *probes, enum probes_group group);

/* Whether a thread is at work on the group, or what it did was not taken yet. */
bool late_busy(const struct probes *probes, enum probes_group group);

/*
 * What came of it, when the thread has ended, for which it waits if `wait` is set: calls for each hook, whose descriptor is
 * the callee's to close, and forgets them. False: the thread is still at work, or there was none.
 */
bool late_take(struct probes *probes, enum probes_group group, bool wait,
	       void (*take)(struct probes *probes, enum probes_group group, const struct late_hook *hook));
