/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --settle: what a command wrote is on the disks before what looks at it ends. One thread. */
#pragma once

#include <stdint.h>

#include "verbs/child.h"

/*
 * Has the file systems of block devices write what is dirty, and waits until that is done, for at most so many
 * nanoseconds or until a signal comes. Then what is left is said on stderr. `child`: the command, which has ended.
 * Returns the process that still waits for a disk; 0: there is none.
 */
pid_t settle(struct child *child, uint64_t most_ns);
