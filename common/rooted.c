// SPDX-License-Identifier: GPL-2.0-or-later
#include "rooted.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>

#include "cleanup.h"

#define LINKS_MAX 40 /* as the kernel's */
#define STEP	  (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

struct way {
	int root;
	int at;		     /* the folder that has been reached */
	char rest[PATH_MAX]; /* from there */
	unsigned int links;
};

static int go(struct way *way, int folder, const char *name)
{
	int fd = openat(folder, name, STEP);

	if (fd < 0)
		return -1;
	closep(&way->at);
	way->at = fd;
	return 0;
}

/* By the mount, as the root may be seen elsewhere, too, and has folders above it there. */
static int go_up(struct way *way)
{
	struct statx root, at;

	if (statx(way->root, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, &root) < 0 ||
	    statx(way->at, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, &at) < 0)
		return -1;
	return root.stx_ino == at.stx_ino && root.stx_mnt_id == at.stx_mnt_id ? 0 : go(way, way->at, "..");
}

/*
 * Links in a folder where everybody may make some, as /tmp, are followed to those alone who made them, and where the
 * folder's owner did: the kernel's own rule (fs.protected_symlinks), which is there so that nobody sends others astray.
 */
static bool may_follow(int folder, const char *name)
{
	struct stat above, link;

	if (fstat(folder, &above) < 0 || fstatat(folder, name, &link, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	return (above.st_mode & (S_ISVTX | S_IWOTH)) != (S_ISVTX | S_IWOTH) || link.st_uid == above.st_uid ||
	       link.st_uid == (uid_t)setfsuid((uid_t)-1);
}

/* Puts the text of a link in the place of its name; `behind` is what follows the name. */
static int follow(struct way *way, const char *name, char *target, size_t length, const char *behind)
{
	char rest[PATH_MAX];

	errno = ELOOP;
	if (way->links++ == LINKS_MAX)
		return -1;
	errno = EACCES;
	if (!may_follow(way->at, name))
		return -1;
	errno = ENAMETOOLONG;
	if (length == PATH_MAX)
		return -1;
	target[length] = '\0';
	if (snprintf(rest, sizeof(rest), "%s%s", target, behind) >= (int)sizeof(rest))
		return -1;
	strcpy(way->rest, rest);
	return *rest == '/' ? go(way, way->root, ".") : 0;
}

/* One name further. 1: it was the last one, and is open as `ret`; 0: there is more to go; -1: errno. */
static int step(struct way *way, int flags, int *ret)
{
	const char *from = way->rest + strspn(way->rest, "/");
	size_t length = strcspn(from, "/");
	const char *behind = from + length;
	char name[NAME_MAX + 1], target[PATH_MAX];
	bool last = !*behind;
	ssize_t link;

	errno = ENAMETOOLONG;
	if (length >= sizeof(name))
		return -1;
	memcpy(name, from, length);
	name[length] = '\0';
	if (!length) { /* what ends in a slash is a folder */
		*ret = openat(way->at, ".", flags | O_CLOEXEC);
		return *ret < 0 ? -1 : 1;
	}
	if (!strcmp(name, ".") || !strcmp(name, "..")) {
		memmove(way->rest, behind, strlen(behind) + 1);
		return name[1] ? go_up(way) : 0;
	}
	link = last && flags & O_NOFOLLOW ? -1 : readlinkat(way->at, name, target, sizeof(target));
	if (link >= 0)
		return follow(way, name, target, (size_t)link, behind);
	if (last) {
		*ret = openat(way->at, name, flags | O_NOFOLLOW | O_CLOEXEC);
		return *ret < 0 ? -1 : 1;
	}
	if (go(way, way->at, name) < 0)
		return -1;
	memmove(way->rest, behind, strlen(behind) + 1);
	return 0;
}

int rooted_open(int root, const char *path, int flags)
{
	_cleanup_close_ int last_at = -1;
	struct way way = { .root = root, .at = -1 };
	int r, found = -1;

	errno = *path ? ENAMETOOLONG : ENOENT;
	if (!*path || snprintf(way.rest, sizeof(way.rest), "%s", path) >= (int)sizeof(way.rest))
		return -1;
	r = go(&way, root, ".");
	while (r == 0)
		r = step(&way, flags, &found);
	last_at = way.at;
	return r < 0 ? -1 : found;
}
