// SPDX-License-Identifier: GPL-2.0-or-later
#include "outside.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "cleanup.h"

/* Room for what comes beside a packet, as the kernel aligns it. */
union beside {
	char bytes[CMSG_SPACE(OUTSIDE_DESCRIPTORS * sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
	struct cmsghdr align;
};

enum { CAME = sizeof(union beside) / sizeof(int) }; /* no more descriptors fit in there, whatever is sent */

int outside_connect(const char *name)
{
	const char *folder = getenv(OUTSIDE_FOLDER);
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const int yes = 1;

	if (!folder)
		return -ENOENT;
	if (fd < 0)
		return -errno;
	if ((size_t)snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", folder, name) >= sizeof(address.sun_path))
		return -ENOENT; /* no unit can listen there */
	if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes)) < 0 ||
	    connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	return take_fd(&fd);
}

int outside_send(int socket, const void *bytes, size_t size, const int *fds, size_t count)
{
	struct iovec vector = { .iov_base = (void *)bytes, .iov_len = size };
	struct msghdr message = { .msg_iov = &vector, .msg_iovlen = 1 };
	union beside beside = { 0 };
	struct cmsghdr *rights;

	if (count) {
		message.msg_control = beside.bytes;
		message.msg_controllen = CMSG_SPACE(count * sizeof(int));
		rights = CMSG_FIRSTHDR(&message);
		*rights = (struct cmsghdr){ CMSG_LEN(count * sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
		memcpy(CMSG_DATA(rights), fds, count * sizeof(int));
	}
	if (sendmsg(socket, &message, MSG_NOSIGNAL) < 0)
		return errno == EPIPE ? -ECONNRESET : -errno;
	return 0;
}

static void close_all(const int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		close(fds[i]);
}

/* Stores the descriptors that came with a packet, and who sent it; returns how many there are. */
static size_t take_beside(struct msghdr *message, int fds[CAME], struct ucred *sender)
{
	size_t count = 0;

	for (struct cmsghdr *one = CMSG_FIRSTHDR(message); one; one = CMSG_NXTHDR(message, one)) {
		if (one->cmsg_level != SOL_SOCKET)
			continue;
		if (one->cmsg_type == SCM_RIGHTS) {
			count = (one->cmsg_len - CMSG_LEN(0)) / sizeof(int);
			memcpy(fds, CMSG_DATA(one), count * sizeof(int));
		} else if (one->cmsg_type == SCM_CREDENTIALS) {
			memcpy(sender, CMSG_DATA(one), sizeof(*sender));
		}
	}
	return count;
}

int outside_receive(int socket, void *bytes, size_t size, int *fds, size_t count, struct ucred *sender)
{
	struct iovec vector = { .iov_base = bytes, .iov_len = size };
	union beside beside;
	struct msghdr message = { .msg_iov = &vector, .msg_iovlen = 1, .msg_control = beside.bytes,
				  .msg_controllen = sizeof(beside.bytes) };
	int came[CAME];
	struct ucred from = { 0 };
	size_t with;
	ssize_t got;

	do
		got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	if (got <= 0)
		return got < 0 ? -errno : -ECONNRESET;
	with = take_beside(&message, came, &from);
	if ((size_t)got != size || with != count || message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
		close_all(came, with);
		return -EBADMSG;
	}
	if (count)
		memcpy(fds, came, count * sizeof(int));
	if (sender)
		*sender = from;
	return 0;
}

static int check_peer(int socket)
{
	struct ucred peer;
	socklen_t length = sizeof(peer);

	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0)
		return -errno;
	return peer.uid == 0 || peer.uid == geteuid() ? 0 : -EPERM;
}

int outside_take_order(void *bytes, size_t size, int *fds, size_t count)
{
	int r = check_peer(STDIN_FILENO);

	return r < 0 ? r : outside_receive(STDIN_FILENO, bytes, size, fds, count, NULL);
}
