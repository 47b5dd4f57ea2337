// SPDX-License-Identifier: GPL-2.0-or-later
#include "instance.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "cleanup.h"

enum { FOLDER_MODE = 0755, STATE_MODE = 0700 };

static int make_folder(const char *path)
{
	if (!mkdir(path, FOLDER_MODE))
		return chmod(path, FOLDER_MODE) < 0 ? -errno : 0; /* independent of the umask */
	return errno == EEXIST ? 0 : -errno;
}

int instance_make_folder(const char *path)
{
	char part[PATH_MAX];

	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		int r;

		snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		r = make_folder(part);
		if (r < 0 && access(part, F_OK) < 0)
			return r;
	}
	return make_folder(path);
}

static int lock_open(int *fd, int *lock)
{
	if (flock(*fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -EADDRINUSE : -errno;
	*lock = take_fd(fd);
	return 0;
}

int instance_lock(const char *folder, int *lock)
{
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/iotracerd.lock", folder) >= PATH_MAX)
		return -ENAMETOOLONG;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	return fd < 0 ? -errno : lock_open(&fd, lock);
}

int instance_lock_state(const char *folder, int *lock)
{
	_cleanup_close_ int fd = -1;

	if (mkdir(folder, STATE_MODE) < 0 && errno != EEXIST)
		return -errno;
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : lock_open(&fd, lock);
}
