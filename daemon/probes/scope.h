/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process that outlives the service of the daemon, as a unit of its own. */
#pragma once

#include <sys/types.h>

/*
 * Has systemd move a process of the daemon's out of its service, into a scope iotracer-detach-PID.scope, and waits until it is
 * there, a second at most. 0, also where the daemon is in no service; or a negative errno, and then the end of the service waits
 * for the process.
 */
int scope_move(pid_t process);
