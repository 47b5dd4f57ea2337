// SPDX-License-Identifier: GPL-2.0-or-later
#include "peer.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

/* The groups at the time of connect(), as for the user and the group. */
static int take_groups(int fd, struct rights *caller)
{
	socklen_t size = sizeof(caller->groups);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, caller->groups, &size) < 0)
		return errno == ERANGE ? -E2BIG : -errno;
	caller->count = size / sizeof(*caller->groups);
	return 0;
}

static bool is_in(const struct rights *caller, gid_t group)
{
	if (caller->gid == group)
		return true;
	for (size_t i = 0; i < caller->count; i++)
		if (caller->groups[i] == group)
			return true;
	return false;
}

static enum role find_role(const struct rights *caller, const gid_t *groups)
{
	for (enum role role = ROLE_COUNT - 1; role > ROLE_NONE; role--)
		if (groups[role] != GROUP_NONE && is_in(caller, groups[role]))
			return role;
	return ROLE_NONE;
}

/* A daemon that is not root cannot give up rights, so files are made with its own. */
int peer_check(int fd, const gid_t *groups, struct rights *caller, enum role *role)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);
	int r;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return -errno;
	*caller = (struct rights){ .uid = peer.uid, .gid = getegid() };
	*role = ROLE_CONTROL;
	if (peer.uid == 0)
		return 0;
	caller->limited = geteuid() == 0;
	caller->gid = peer.gid;
	r = take_groups(fd, caller);
	if (r < 0)
		return r;
	*role = find_role(caller, groups);
	if (*role == ROLE_NONE)
		return -EPERM;
	if (!caller->limited)
		caller->gid = getegid();
	return 0;
}
