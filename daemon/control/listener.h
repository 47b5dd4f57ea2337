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

/*
 * Lets members of one more group connect, by an entry in the access control list of the socket's file, which then has
 * no other such entry. Takes a socket of listener_open() or the service manager; GROUP_NONE, or a socket without a
 * file: does nothing. -EOPNOTSUPP: the file system has no such lists.
 */
int listener_admit(int fd, gid_t group);

/* Makes a socket that the service manager has passed one for server_listen(). -EPROTOTYPE: it is no listening Unix socket. */
int listener_take(int fd);
