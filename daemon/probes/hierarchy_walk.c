// SPDX-License-Identifier: GPL-2.0-or-later
/* The cgroups that exist: the folders of a mount of cgroup v2, whose inode numbers are their ids. */
#include "probes/hierarchy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "cleanup.h"
#include "mount_list.h"
#include "tree.h"

#define ROOT_ID 1 /* the first inode number that the kernel gives out */

struct walk {
	hierarchy_found found;
	void *userdata;
};

/* Opens the root of a mount; another file system may be mounted over it. */
static int open_root(const char *path, uint64_t *id)
{
	_cleanup_close_ int fd = tree_open(path, O_RDONLY | O_DIRECTORY);
	struct statfs system;
	struct stat status;

	if (fd < 0 || fstatfs(fd, &system) < 0 || fstat(fd, &status) < 0)
		return -errno;
	if (system.f_type != CGROUP2_SUPER_MAGIC)
		return -ENOENT;
	*id = status.st_ino;
	return take_fd(&fd);
}

/* The mount with the root of the hierarchy, or the first one. */
static int open_mount(uint64_t *id)
{
	_cleanup_(mount_list_done) struct mount_list list;
	_cleanup_close_ int fd = -1;
	struct mount_entry entry;
	int r = mount_list_read(NULL, &list);

	if (r < 0)
		return r;
	while ((fd < 0 || *id != ROOT_ID) && mount_list_next(&list, &entry)) {
		uint64_t its_id = 0;
		int other = strcmp(entry.type, "cgroup2") ? -1 : open_root(entry.path, &its_id);

		if (other < 0)
			continue;
		if (fd >= 0 && its_id != ROOT_ID) {
			close(other);
			continue;
		}
		closep(&fd);
		fd = other;
		*id = its_id;
	}
	return fd < 0 ? -ENOENT : take_fd(&fd);
}

/* Tells of what is below the folder, whose descriptor is closed. What vanishes meanwhile is passed over. */
static void walk_below(const struct walk *walk, int fd, uint64_t id, unsigned int level)
{
	DIR *folder = fdopendir(fd);
	struct dirent *entry;

	if (!folder) {
		close(fd);
		return;
	}
	while ((entry = readdir(folder))) {
		int below;

		if (entry->d_type != DT_DIR || !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		walk->found(entry->d_ino, id, entry->d_name, walk->userdata);
		below = level < HIERARCHY_LEVELS ?
				openat(dirfd(folder), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) :
				-1;
		if (below >= 0)
			walk_below(walk, below, entry->d_ino, level + 1);
	}
	closedir(folder);
}

int hierarchy_walk(hierarchy_found found, void *userdata, bool *whole)
{
	const struct walk walk = { found, userdata };
	uint64_t id;
	int fd = open_mount(&id);

	if (fd < 0)
		return fd;
	*whole = id == ROOT_ID;
	found(id, 0, "", userdata);
	walk_below(&walk, fd, id, 1);
	return 0;
}
