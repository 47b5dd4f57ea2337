/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who is at the other end of a connection, as the kernel says, and whether they may control the
 * daemon: root, and members of one group. Any thread.
 */
#pragma once

#include <sys/types.h>

/* 0 and `*uid`; -EPERM: known, but may not (`*uid` is set too). `group` may be GROUP_NONE. */
int peer_check(int fd, gid_t group, uid_t *uid);
