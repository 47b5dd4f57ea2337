// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/bequest.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cleanup.h"

#define MESSAGES_MAX 256 /* far more than all programs and maps take */

/* The first message has the key, those that follow have entries, and the last one the number of all entries. */
enum kind {
	KIND_KEY,
	KIND_ENTRIES,
	KIND_END,
};

struct message {
	uint32_t kind;
	uint32_t count; /* of its entries; KIND_END: of all */
	union {
		char key[BEQUEST_KEY_MAX];
		struct bequest_entry entries[BEQUEST_BATCH];
	};
};

union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(BEQUEST_BATCH * sizeof(int))];
};

/* ---- sending ---- */

static void send_message(struct bequest_parcel *parcel, const struct message *message, const int *fds, size_t count)
{
	union control control = { 0 };
	struct iovec data = { (void *)message, sizeof(*message) };
	struct msghdr header = { .msg_iov = &data, .msg_iovlen = 1 };
	struct cmsghdr *rights;

	if (count) {
		header.msg_control = &control;
		header.msg_controllen = CMSG_SPACE(count * sizeof(int));
		rights = CMSG_FIRSTHDR(&header);
		rights->cmsg_level = SOL_SOCKET;
		rights->cmsg_type = SCM_RIGHTS;
		rights->cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(rights), fds, count * sizeof(int));
	}
	if (!parcel->error && sendmsg(parcel->sockets[0], &header, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		parcel->error = -errno;
}

static void flush(struct bequest_parcel *parcel)
{
	struct message message = { .kind = KIND_ENTRIES, .count = parcel->count };

	if (!parcel->count)
		return;
	memcpy(message.entries, parcel->entries, parcel->count * sizeof(parcel->entries[0]));
	send_message(parcel, &message, parcel->fds, parcel->count);
	parcel->sent += parcel->count;
	parcel->count = 0;
}

/* Datagrams wait for their reader also when the other end is closed. */
int bequest_pair(int sockets[2])
{
	const int room = 1 << 20;

	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, sockets) < 0) {
		sockets[0] = sockets[1] = -1;
		return -errno;
	}
	setsockopt(sockets[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	return 0;
}

void bequest_begin(struct bequest_parcel *parcel, const char *key, int socket)
{
	struct message message = { .kind = KIND_KEY };

	parcel->count = parcel->sent = 0;
	parcel->error = 0;
	parcel->sockets[0] = socket;
	parcel->sockets[1] = -1;
	if (socket < 0)
		parcel->error = bequest_pair(parcel->sockets);
	strncpy(message.key, key, sizeof(message.key) - 1);
	send_message(parcel, &message, NULL, 0);
}

void bequest_add(struct bequest_parcel *parcel, uint32_t owner, const char *name, int fd)
{
	struct bequest_entry *entry = &parcel->entries[parcel->count];

	if (strlen(name) >= sizeof(entry->name)) {
		parcel->error = parcel->error ?: -ENAMETOOLONG;
		return;
	}
	entry->owner = owner;
	strncpy(entry->name, name, sizeof(entry->name));
	parcel->fds[parcel->count++] = fd;
	if (parcel->count == BEQUEST_BATCH)
		flush(parcel);
}

int bequest_end(struct bequest_parcel *parcel)
{
	struct message message = { .kind = KIND_END };

	flush(parcel);
	message.count = parcel->sent;
	send_message(parcel, &message, NULL, 0);
	if (parcel->sockets[1] < 0)
		return parcel->error;
	close(parcel->sockets[0]);
	if (!parcel->error)
		return parcel->sockets[1];
	close(parcel->sockets[1]);
	return parcel->error;
}

/* ---- receiving ---- */

struct bequest {
	bool known; /* the key was the right one */
	size_t count;
	struct bequest_entry *entries;
	int *fds; /* -1: taken */
};

bool bequest_waits(int socket, const char *key)
{
	struct message message;
	ssize_t size = recv(socket, &message, sizeof(message), MSG_PEEK | MSG_DONTWAIT);

	return size == sizeof(message) && message.kind == KIND_KEY && !strncmp(message.key, key, sizeof(message.key));
}

/* Closes those that are not wanted. Returns how many came. */
static size_t rights_take(struct msghdr *header, int *fds, bool wanted)
{
	size_t count = 0;

	for (struct cmsghdr *rights = CMSG_FIRSTHDR(header); rights; rights = CMSG_NXTHDR(header, rights)) {
		if (rights->cmsg_level != SOL_SOCKET || rights->cmsg_type != SCM_RIGHTS)
			continue;
		count = (rights->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(fds, CMSG_DATA(rights), count * sizeof(int));
	}
	for (size_t i = 0; i < count && !wanted; i++)
		close(fds[i]);
	return count;
}

static int entries_add(struct bequest *bequest, const struct message *message, const int *fds)
{
	size_t count = bequest->count + message->count;
	struct bequest_entry *entries = reallocarray(bequest->entries, count, sizeof(*entries));
	int *all;

	bequest->entries = entries ?: bequest->entries;
	all = entries ? reallocarray(bequest->fds, count, sizeof(*all)) : NULL;
	bequest->fds = all ?: bequest->fds;
	if (!all) {
		for (size_t i = 0; i < message->count; i++)
			close(fds[i]);
		return -ENOMEM;
	}
	memcpy(entries + bequest->count, message->entries, message->count * sizeof(*entries));
	memcpy(all + bequest->count, fds, message->count * sizeof(*all));
	for (size_t i = bequest->count; i < count; i++)
		entries[i].name[BEQUEST_NAME_MAX - 1] = '\0';
	bequest->count = count;
	return 0;
}

/* One message. 1 with the last one, otherwise 0 or a negative errno. */
static int receive_one(int socket, struct bequest *bequest, const char *key)
{
	union control control;
	struct message message;
	struct iovec data = { &message, sizeof(message) };
	struct msghdr header = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control,
				 .msg_controllen = sizeof(control) };
	ssize_t size = recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	int fds[BEQUEST_BATCH];
	size_t count;
	bool whole;

	if (size < 0)
		return -errno;
	whole = size == sizeof(message) && !(header.msg_flags & (MSG_TRUNC | MSG_CTRUNC));
	count = rights_take(&header, fds, whole && message.kind == KIND_ENTRIES);
	if (!whole)
		return -EBADMSG;
	if (message.kind == KIND_KEY && !bequest->known) {
		bequest->known = !strncmp(message.key, key, sizeof(message.key));
		return bequest->known ? 0 : -ESTALE;
	}
	if (message.kind == KIND_END)
		return bequest->known && message.count == bequest->count ? 1 : -EBADMSG;
	if (message.kind == KIND_ENTRIES && bequest->known && message.count == count)
		return entries_add(bequest, &message, fds);
	for (size_t i = 0; i < count && message.kind == KIND_ENTRIES; i++)
		close(fds[i]);
	return -EBADMSG;
}

/*
 * A stream socket, or one that was shut down, gives its end of file for ever, which looks like an empty message: of what
 * was never sent from here nothing is read, and the queue has no more messages than it can have from here.
 */
static bool is_queue(int socket)
{
	int type = 0;
	socklen_t size = sizeof(type);

	return getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size) < 0 || type == SOCK_DGRAM;
}

static void queue_empty(int socket)
{
	char byte;

	for (size_t i = 0; i < MESSAGES_MAX && recv(socket, &byte, 1, MSG_DONTWAIT) >= 0; i++)
		;
}

DEFINE_CLEANUP(struct bequest *, bequest_free);

int bequest_receive(int socket, const char *key, int patience_ms, struct bequest **ret)
{
	_cleanup_(bequest_freep) struct bequest *bequest = calloc(1, sizeof(*bequest));
	struct pollfd more = { .fd = socket, .events = POLLIN };
	bool any = false;
	int r = 0;

	if (!bequest)
		return -ENOMEM;
	if (!is_queue(socket))
		return -EBADMSG;
	for (size_t i = 0; r == 0; i++) {
		if (i == MESSAGES_MAX)
			return -EBADMSG;
		poll(&more, 1, patience_ms);
		r = receive_one(socket, bequest, key);
		any |= r != -EAGAIN;
	}
	queue_empty(socket);
	if (r < 0)
		return r == -EAGAIN ? any ? -EBADMSG : -ENOENT : r;
	*ret = TAKE(bequest);
	return 0;
}

static ssize_t find(const struct bequest *bequest, uint32_t owner, const char *name)
{
	for (size_t i = 0; i < bequest->count; i++)
		if (bequest->entries[i].owner == owner && !strcmp(bequest->entries[i].name, name))
			return (ssize_t)i;
	return -1;
}

int bequest_take(struct bequest *bequest, uint32_t owner, const char *name)
{
	ssize_t i = find(bequest, owner, name);

	return i < 0 ? -1 : take_fd(&bequest->fds[i]);
}

int bequest_find(const struct bequest *bequest, uint32_t owner, const char *name)
{
	ssize_t i = find(bequest, owner, name);

	return i < 0 ? -1 : bequest->fds[i];
}

int bequest_each(const struct bequest *bequest, uint32_t owner, int (*call)(const char *name, int fd))
{
	int r = 0;

	for (size_t i = 0; i < bequest->count && r >= 0; i++)
		if (bequest->entries[i].owner == owner && bequest->fds[i] >= 0)
			r = call(bequest->entries[i].name, bequest->fds[i]);
	return r < 0 ? r : 0;
}

int *bequest_take_all(struct bequest *bequest, size_t *count)
{
	int *all = calloc(bequest->count + 1, sizeof(*all));

	*count = 0;
	for (size_t i = 0; i < bequest->count && all; i++)
		if (bequest->fds[i] >= 0)
			all[(*count)++] = take_fd(&bequest->fds[i]);
	return all;
}

void bequest_free(struct bequest *bequest)
{
	if (!bequest)
		return;
	for (size_t i = 0; i < bequest->count; i++)
		closep(&bequest->fds[i]);
	free(bequest->entries);
	free(bequest->fds);
	free(bequest);
}
