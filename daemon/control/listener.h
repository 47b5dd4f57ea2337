/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The control socket in the file system. Main thread only. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Whether something accepts connections at the path. */
bool listener_is_served(const char *path);

/*
 * A listening socket at the path, 0660 for root and the group, 0600 when that is GROUP_NONE. A
 * socket that was left there is replaced. -ENOTSOCK: something else is there. -ENAMETOOLONG.
 */
int listener_open(const char *path, gid_t group, int *ret);

/* The number of listening sockets that the service manager handed in: `*first` and following. */
int listener_inherit(int *first);
