/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Iotracer's own processes, which no session records: the daemon, and those that it adds, such as the
 * client of each connection. They are identified by PID in the daemon's PID namespace, which must be the
 * initial one, never by name, which any process may take. Main thread.
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
