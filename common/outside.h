/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the service's confinement refuses is done by a process outside of it: this program, started again by a unit for each
 * connection to its socket. The folder of these sockets stands in the environment (OUTSIDE_FOLDER=PATH, in the unit); where there
 * is none, as by hand, the program does all by itself. Packets go both ways, with descriptors beside them. Any thread.
 */
#pragma once

#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

enum { OUTSIDE_DESCRIPTORS = 3 }; /* of a packet, at most */

#define OUTSIDE_FOLDER "IOTRACER_OUTSIDE"

/*
 * Connects to the socket of that name, whose process is being started then. Returns a descriptor that learns who sends.
 * -ENOENT, -ECONNREFUSED: no unit listens there.
 */
int outside_connect(const char *name);

/* Sends a packet, of at least a byte, and copies of the descriptors. 0, or a negative errno; -ECONNRESET: the other end has gone. */
int outside_send(int socket, const void *bytes, size_t size, const int *fds, size_t count);

/*
 * Waits for a packet of that size with so many descriptors, which are the caller's. `sender`, NULL or not: who sent it, if the
 * socket learns that. -ECONNRESET: the other end has gone; -EBADMSG: another packet came, which nothing is left of.
 */
int outside_receive(int socket, void *bytes, size_t size, int *fds, size_t count, struct ucred *sender);

/*
 * For the process outside: the same, from its standard input, of what it is to do. -EPERM: neither root nor its own user asks, whom
 * the mode of the socket should have kept away.
 */
int outside_take_order(void *bytes, size_t size, int *fds, size_t count);
