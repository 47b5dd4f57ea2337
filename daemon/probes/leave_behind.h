/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Descriptors of hooks, whose close takes long, when the daemon ends. */
#pragma once

#include <stddef.h>

/*
 * Leaves the descriptors, of which the caller closes his own, to a new process that, ten seconds later, closes one after
 * the other, and ends. It does nothing else, has no other descriptor, and is in no service: who waits for the daemon's end does not
 * wait for it. Within these seconds the next daemon of the service may claim them.
 */
void leave_behind(const int *fds, size_t count);

/*
 * What the last daemon has left behind: `socket` is the one that the service manager kept. Stores an array of descriptors, for
 * the caller to close and free, and their number. Waits for ten seconds at most. -ECONNREFUSED, -ETIMEDOUT: they are being closed.
 */
int leave_behind_claim(int socket, int **ret, size_t *count);
