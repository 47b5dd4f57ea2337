// SPDX-License-Identifier: GPL-2.0-or-later
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cleanup.h"
#include "rights.h"
#include "rooted.h"

#define FIRST_FD 16 /* below are those that a process is given when it is started */

static int root = -1; /* -1: the tree is that of this process */
static char mounts[32] = "/proc/self/mountinfo";

/* Opens a file of a process for good, by a number that is not taken for one of those that it was given. */
static int keep(const char *process, const char *name, int flags)
{
	_cleanup_close_ int fd = -1;
	char path[32];
	int kept;

	if (snprintf(path, sizeof(path), "/proc/%s/%s", process, name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_PATH | O_CLOEXEC | flags);
	if (fd < 0)
		return -errno;
	kept = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FD);
	return kept < 0 ? -errno : kept;
}

/* The table is held, too: who has a user's rights may not look into the folders of others in a service's own /proc. */
int tree_begin(void)
{
	const char *of = getenv(TREE_OF);
	int table;

	if (!of)
		return 0;
	root = keep(of, "root", O_DIRECTORY);
	if (root < 0)
		return root;
	table = keep(of, "mountinfo", 0);
	if (table < 0)
		return table;
	snprintf(mounts, sizeof(mounts), "/proc/self/fd/%d", table);
	return 0;
}

bool tree_is_anothers(void)
{
	return root >= 0;
}

/*
 * For a user, links of /proc that lead to what a process has open are not followed: /proc/self is the daemon, to whom those
 * of its own are open whatever rights its thread has.
 */
static int open_for_user(const char *path, int flags)
{
	const struct open_how how = { .flags = (unsigned)flags | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS };

	return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
}

int tree_open(const char *path, int flags)
{
	if (root >= 0)
		return rooted_open(root, path, flags);
	return rights_in_use() ? open_for_user(path, flags) : open(path, flags | O_CLOEXEC);
}

FILE *tree_file(const char *path)
{
	_cleanup_close_ int fd = tree_open(path, O_RDONLY);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

	if (file)
		take_fd(&fd);
	return file;
}

int tree_open_above(const char *path, const char **name)
{
	char above[PATH_MAX];
	const char *slash = strrchr(path, '/');

	errno = EINVAL;
	if (!slash)
		return -1;
	errno = ENAMETOOLONG;
	if (snprintf(above, sizeof(above), "%.*s", (int)(slash - path) + 1, path) >= (int)sizeof(above))
		return -1;
	*name = slash + 1;
	return tree_open(above, O_PATH | O_DIRECTORY);
}

static int look(const char *path, int flags, struct stat *ret)
{
	_cleanup_close_ int fd = tree_open(path, O_PATH | flags);

	return fd < 0 ? -1 : fstat(fd, ret);
}

int tree_stat(const char *path, struct stat *ret)
{
	return look(path, 0, ret);
}

int tree_lstat(const char *path, struct stat *ret)
{
	return look(path, O_NOFOLLOW, ret);
}

int tree_statvfs(const char *path, struct statvfs *ret)
{
	_cleanup_close_ int fd = tree_open(path, O_PATH);

	return fd < 0 ? -1 : fstatvfs(fd, ret);
}

/* The path without slashes at its end, which mkdir(2) and rmdir(2) take. */
static int open_above_folder(const char *path, char copy[PATH_MAX], const char **name)
{
	size_t length = strlen(path);

	while (length > 1 && path[length - 1] == '/')
		length--;
	errno = ENAMETOOLONG;
	if (length >= PATH_MAX)
		return -1;
	memcpy(copy, path, length);
	copy[length] = '\0';
	return tree_open_above(copy, name);
}

int tree_mkdir(const char *path, mode_t mode)
{
	char copy[PATH_MAX];
	const char *name;
	_cleanup_close_ int fd = open_above_folder(path, copy, &name);

	return fd < 0 ? -1 : mkdirat(fd, *name ? name : ".", mode);
}

int tree_rmdir(const char *path)
{
	char copy[PATH_MAX];
	const char *name;
	_cleanup_close_ int fd = open_above_folder(path, copy, &name);

	return fd < 0 ? -1 : unlinkat(fd, *name ? name : ".", AT_REMOVEDIR);
}

bool tree_enters(const char *path)
{
	_cleanup_close_ int fd = tree_open(path, O_PATH | O_DIRECTORY);

	return fd >= 0 && !faccessat(fd, ".", X_OK, AT_EACCESS);
}

/* Only where there is no tree but ours, as realpath() goes through it. */
static char *by_parts(const char *path)
{
	errno = ENOENT;
	return root < 0 ? realpath(path, NULL) : NULL;
}

/* By one readlink where that does, as realpath() accesses every part of the path. */
char *tree_real_path(const char *path)
{
	_cleanup_close_ int fd = tree_open(path, O_PATH);
	char link[64], real[PATH_MAX];
	struct stat found, there;
	ssize_t length;

	if (fd < 0)
		return NULL;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, real, sizeof(real));
	if (length <= 0 || (size_t)length == sizeof(real) || *real != '/')
		return by_parts(path);
	real[length] = '\0';
	/* For a file that was removed, or is outside of the root, the text is not its path. */
	if (fstat(fd, &found) < 0 || tree_lstat(real, &there) < 0 || found.st_ino != there.st_ino ||
	    found.st_dev != there.st_dev)
		return by_parts(path);
	return strdup(real);
}

const char *tree_mounts(void)
{
	return mounts;
}
