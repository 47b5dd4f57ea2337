/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rights with which a thread opens, makes, renames and removes files. The daemon is root and works for
 * users who are not: in a folder that a user named it has that user's rights only.
 *
 * The rights belong to one thread: its file-system user and group as in setfsuid(2), its groups and, if they
 * are a user's, no capability except CAP_SYS_NICE, which the compressing thread needs to continue. A new
 * thread inherits the rights of its creator, so no thread may be created while they are in use.
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

/* Whether the rights are those of root, or of the user who runs the program. */
static inline bool rights_full(const struct rights *rights)
{
	return !rights || !rights->limited;
}
