// SPDX-License-Identifier: GPL-2.0-or-later
#include "disk_files.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "cleanup.h"
#include "mount_list.h"
#include "tree.h"

/* Returns the number of the block device at the path, or 0 if it is none. */
static uint32_t disk_of(const char *path)
{
	struct stat st;

	if (strncmp(path, "/dev/", 5) || tree_stat(path, &st) < 0 || !S_ISBLK(st.st_mode))
		return 0;
	return major(st.st_rdev) << 20 | minor(st.st_rdev);
}

/* Whether a file of sysfs, such as .../dev, contains the number of the disk. */
static bool file_has(const char *path, uint32_t disk)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	unsigned int first, second;

	return file && fscanf(file, "%u:%u", &first, &second) == 2 && (first << 20 | second) == disk;
}

/* Whether both disks belong to one btrfs file system: /sys/fs/btrfs/UUID/devices lists its disks. */
static bool share_file_system(uint32_t disk, uint32_t other)
{
	bool has_one, has_other = false, found = false;
	glob_t systems, members;

	if (glob("/sys/fs/btrfs/*/devices", GLOB_NOSORT, NULL, &systems))
		return false;
	for (size_t i = 0; i < systems.gl_pathc && !found; i++) {
		char pattern[PATH_MAX];

		snprintf(pattern, sizeof(pattern), "%s/*/dev", systems.gl_pathv[i]);
		if (glob(pattern, GLOB_NOSORT, NULL, &members))
			continue;
		has_one = has_other = false;
		for (size_t j = 0; j < members.gl_pathc; j++) {
			has_one |= file_has(members.gl_pathv[j], disk);
			has_other |= file_has(members.gl_pathv[j], other);
		}
		found = has_one && has_other;
		globfree(&members);
	}
	globfree(&systems);
	return found;
}

static bool is_on(const struct mount_entry *mount, uint32_t disk)
{
	uint32_t source = mount->device >> 20 ? 0 : disk_of(mount->source);

	return source && (source == disk || (!strcmp(mount->type, "btrfs") && share_file_system(disk, source)));
}

size_t disk_files(uint32_t disk, uint32_t *ret)
{
	_cleanup_(mount_list_done) struct mount_list list;
	struct mount_entry mount;
	size_t count = 0;

	if (mount_list_read(NULL, &list) < 0)
		return 0;
	while (count < DISK_FILES_MAX && mount_list_next(&list, &mount)) {
		bool known = false;

		if (!is_on(&mount, disk))
			continue;
		for (size_t i = 0; i < count; i++)
			known |= ret[i] == mount.device;
		if (!known)
			ret[count++] = mount.device;
	}
	return count;
}
