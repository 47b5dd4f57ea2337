/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The user at the other end of a connection, from the kernel, and the role that he has. Any thread.
 */
#pragma once

#include <sys/types.h>

#include "rights.h"
#include "role.h"

/*
 * Returns 0, the user's role, and the rights with which files are made for him; -EPERM: the user is known and has
 * no role (`caller->uid` is set too); -E2BIG: he is in more than RIGHTS_GROUPS_MAX groups. `groups`: by role,
 * ROLE_COUNT of them.
 */
int peer_check(int fd, const gid_t *groups, struct rights *caller, enum role *role);
