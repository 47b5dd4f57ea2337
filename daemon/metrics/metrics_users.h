/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Users at the other ends of connections of this machine. */
#pragma once

#include <netinet/in.h>
#include <stddef.h>
#include <sys/types.h>

#define METRICS_NOBODY ((uid_t)-1)

struct metrics_peer {
	struct sockaddr_in from; /* where the connection is from; port 0: there is none */
	uid_t user;
};

/*
 * Finds who they are in the kernel's table of the machine's connections, all of which have to be gone through; at most
 * METRICS_TABLE_MAX bytes of it are. Who is not found stays as he is. Any thread.
 */
void metrics_users_find(struct metrics_peer *peers, size_t count);

enum { METRICS_TABLE_MAX = 2 << 20 };
