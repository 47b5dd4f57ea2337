/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The control socket in the file system. Main thread only. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Whether something accepts connections at the path. */
bool listener_is_served(const char *path);

/*
 * Opens a listening socket at the path, with mode 0660 for root and the group, or 0600 if the group is
 * GROUP_NONE. A stale socket is replaced. -ENOTSOCK: the path is something else. -ENAMETOOLONG.
 */
int listener_open(const char *path, gid_t group, int *ret);

/* Returns the number of listening sockets passed by the service manager: `*first` and following. */
int listener_inherit(int *first);
