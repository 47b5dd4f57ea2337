// SPDX-License-Identifier: GPL-2.0-or-later
#include "peer.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "cleanup.h"
#include "context.h"

static bool in_supplementary_groups(int fd, gid_t group)
{
	_cleanup_free_ gid_t *groups = NULL;
	socklen_t size = 0;

	if (!getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &size) || errno != ERANGE)
		return false; /* none, or the kernel does not tell */
	groups = malloc(size);
	if (!groups || getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size) < 0)
		return false;
	for (size_t i = 0; i < size / sizeof(*groups); i++)
		if (groups[i] == group)
			return true;
	return false;
}

int peer_check(int fd, gid_t group, uid_t *uid)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return -errno;
	*uid = peer.uid;
	if (peer.uid == 0)
		return 0;
	if (group != GROUP_NONE && (peer.gid == group || in_supplementary_groups(fd, group)))
		return 0;
	return -EPERM;
}
