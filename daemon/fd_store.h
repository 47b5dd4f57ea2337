/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Descriptors that the service manager passes to the daemon at its start: listening sockets of its unit, and what the last
 * daemon of the service had it keep over a new start. Without a service manager there are none.
 */
#pragma once

#include <stddef.h>

enum fd_store {
	FD_STORE_PROGRAMS, /* see probes/bequest.h */
	FD_STORE_HOOKS,	   /* see probes/leave_behind.h */
	FD_STORE_COUNT,
};

struct fd_store_passed {
	int stored[FD_STORE_COUNT]; /* -1: none */
	int *sockets;		    /* all others */
	size_t socket_count;
};

/* Takes what was passed, once: programs that are started by this one get none of it. 0 or a negative errno. Main thread. */
int fd_store_receive(struct fd_store_passed *ret);

/* Closes what is there, and frees the list. */
void fd_store_done(struct fd_store_passed *passed);

/*
 * Has the service manager keep a copy of the descriptor in place of what it keeps under that name, until the service ends
 * without being started anew; -1: of none. Any thread. Returns 1, 0 if there is no service manager that does such things, or a
 * negative errno.
 */
int fd_store_put(enum fd_store name, int fd);
