/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Iotracer's own processes, which no session records: the daemon, and those that it adds, such as the
 * clients that are its programs. They are identified by PID in the daemon's PID namespace, which must be the
 * initial one; whoever adds one removes it when that process ends, as its PID may be another's then. Main thread.
 */
#pragma once

#include <sys/types.h>

#include "probes/probes.h"

/*
 * What the process does from now on makes no rows, until own_remove() was called as often as own_add(). A
 * PID that is not positive is ignored; beyond IOTR_OWN processes own_add() only logs.
 */
void own_add(struct probes *probes, pid_t process);
void own_remove(struct probes *probes, pid_t process);

struct own_counts {
	uint32_t processes;  /* that are left out now */
	uint64_t operations; /* of which nothing was told since the start because one of them did them */
};

void own_count(const struct probes *probes, struct own_counts *ret);
