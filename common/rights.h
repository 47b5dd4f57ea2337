/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rights with which a thread opens, makes, renames and removes files. The daemon is root and works for
 * users who are not: in a folder that a user named it has that user's rights only.
 *
 * The rights belong to one thread: its effective user and group, and with them those of file systems, its groups and, if they
 * are a user's, no capability except CAP_SYS_NICE, which the compressing thread needs to continue. A new
 * thread inherits the rights of its creator, so no thread may be created while they are in use.
 *
 * The real and the saved user stay the daemon's: a user may kill any process, and lower its limits, that has a thread with
 * his. Only FUSE asks for these when a file is accessed. It lets nobody but its owner in unless it was mounted with
 * allow_other, and refuses a thread whose three users are not all the same. So what the kernel closes to a user is closed to
 * the daemon that works for him, and so is what a user has mounted for himself alone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { RIGHTS_GROUPS_MAX = 1024 }; /* limit of a user's groups */

struct rights {
	bool limited; /* a user's rights; otherwise the daemon's own, with `gid` as the group of new files */
	uid_t uid;
	gid_t gid;
	size_t count;
	gid_t groups[RIGHTS_GROUPS_MAX];
};

/*
 * From now on this thread has these rights, which must remain valid as long; NULL: the daemon's own. Returns
 * the previous rights, to be restored later. If a thread cannot give up its rights, the program ends.
 */
const struct rights *rights_use(const struct rights *rights);

/* Whether this thread has a user's rights now. */
bool rights_in_use(void);

/*
 * The process, before it has other threads, gives up the keys of who started it (keyrings(7)): file systems that look for
 * keys (AFS, CIFS with multiuser) would use them for callers.
 */
void rights_forget_keys(void);

/* Whether the rights are those of root, or of the user who runs the program. */
static inline bool rights_full(const struct rights *rights)
{
	return !rights || !rights->limited;
}
