/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The user at the other end of a connection, from the kernel, and whether he may control the daemon: root may,
 * and members of one group. Any thread.
 */
#pragma once

#include <sys/types.h>

#include "rights.h"

/*
 * Returns 0, and the rights with which files are made for the user; -EPERM: the user is known but may not
 * control the daemon (`caller->uid` is set too); -E2BIG: he is in more than RIGHTS_GROUPS_MAX groups. `group`
 * may be GROUP_NONE.
 */
int peer_check(int fd, gid_t group, struct rights *caller);

/* Returns the process that connected, or 0 if it is not known. */
pid_t peer_process(int fd);
