/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Descriptors whose close takes long, when the daemon ends. */
#pragma once

#include <stddef.h>

/*
 * Leaves the descriptors, of which the caller closes his own, to a new process that, ten seconds later, closes one after
 * the other, and ends. It does nothing else, has no other descriptor, and is in no service: who waits for the daemon's end does not
 * wait for it. The array is brought into ascending order.
 */
void leave_behind(int *fds, size_t count);
