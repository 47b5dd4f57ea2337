/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Descriptors of programs and maps on their way from one daemon to the next: they wait, with their names, in the queue of a
 * socket that the service manager keeps meanwhile. Who receives them empties the queue, so a daemon that they harm does not
 * harm the one after it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BEQUEST_KEY_MAX  128 /* bytes with the NUL */
#define BEQUEST_NAME_MAX 60

/* ---- sending ---- */

/* A new pair of sockets: what is sent to the first waits in the second, also when the first is closed. */
int bequest_pair(int sockets[2]);

#define BEQUEST_BATCH 128 /* descriptors in a message; the kernel takes 253 */

struct bequest_entry {
	uint32_t owner; /* what the name is of: the two tell an entry from all others */
	char name[BEQUEST_NAME_MAX];
};

struct bequest_parcel {
	int sockets[2]; /* what is sent to the first waits in the second; -1 there: it is not ours */
	int error;	/* of the first call that failed, or 0 */
	uint32_t count, sent;
	struct bequest_entry entries[BEQUEST_BATCH];
	int fds[BEQUEST_BATCH];
};

/*
 * `key`: who receives it must know it. It is sent to the other end of `socket`; -1: to a new pair's. Errors are told at the
 * end. These three make nothing but system calls.
 */
void bequest_begin(struct bequest_parcel *parcel, const char *key, int socket);
void bequest_add(struct bequest_parcel *parcel, uint32_t owner, const char *name, int fd); /* a copy of the descriptor */

/* Returns the first error or, of a new pair, the socket whose queue has it all, for the caller to close; otherwise 0. */
int bequest_end(struct bequest_parcel *parcel);

/* ---- receiving ---- */

struct bequest;

/* Whether something with that key waits in the socket's queue, from which nothing is taken. */
bool bequest_waits(int socket, const char *key);

/*
 * Takes everything from the socket's queue, waiting for `patience_ms` for each part of it. -ENOENT: nothing is there; -ESTALE:
 * the key is another one; -EBADMSG: some of it is missing. What was there is closed then.
 */
int bequest_receive(int socket, const char *key, int patience_ms, struct bequest **ret);

/* The descriptor with that name, which is the caller's from now on; -1: there is none, or it was taken. */
int bequest_take(struct bequest *bequest, uint32_t owner, const char *name);

/* The same, but it stays where it is. */
int bequest_find(const struct bequest *bequest, uint32_t owner, const char *name);

/* All of that owner that were not taken, which stay where they are, until a call returns a negative number: that one, or 0. */
int bequest_each(const struct bequest *bequest, uint32_t owner, int (*call)(const char *name, int fd));

/* Takes all that were not taken: an array for the caller to free, and their number. NULL: no memory. */
int *bequest_take_all(struct bequest *bequest, size_t *count);

/* Closes what nobody has taken. Takes NULL. */
void bequest_free(struct bequest *bequest);
