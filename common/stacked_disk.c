// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacked_disk.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "mount_list.h"

#define MINOR_BITS 20
#define LOOP_MAJOR 7

static bool has(const char *disk, const char *name)
{
	char path[PATH_MAX];

	return (size_t)snprintf(path, sizeof(path), "%s/%s", disk, name) < sizeof(path) && access(path, F_OK) == 0;
}

/* Whether a folder of sysfs has anything in it. */
static bool has_entries(const char *disk, const char *name)
{
	char path[PATH_MAX];
	const struct dirent *entry;
	bool found = false;
	DIR *folder;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", disk, name) >= sizeof(path))
		return false;
	folder = opendir(path);
	while (folder && !found && (entry = readdir(folder)))
		found = entry->d_name[0] != '.';
	if (folder)
		closedir(folder);
	return found;
}

static bool is_on(const char *path, const char *mount)
{
	size_t length = strlen(mount);

	return length == 1 || (!strncmp(path, mount, length) && (!path[length] || path[length] == '/'));
}

/* Whether a file lies in memory, by the mount that it is on: the last of those with the longest path. */
static bool file_in_memory(const char *file)
{
	struct mount_entry mount;
	struct mount_list list;
	size_t longest = 0;
	bool memory = false;

	if (mount_list_read(NULL, &list) >= 0)
		while (mount_list_next(&list, &mount))
			if (is_on(file, mount.path) && strlen(mount.path) >= longest) {
				longest = strlen(mount.path);
				memory = !strcmp(mount.type, "tmpfs") || !strcmp(mount.type, "ramfs") ||
					 !strcmp(mount.type, "devtmpfs");
			}
	mount_list_done(&list);
	return memory;
}

/* Whether what a loop device does reaches no other disk. */
static bool loop_in_memory(const char *disk)
{
	char path[PATH_MAX], backing[PATH_MAX];
	_cleanup_fclose_ FILE *file = NULL;

	if ((size_t)snprintf(path, sizeof(path), "%s/loop/backing_file", disk) >= sizeof(path))
		return false;
	file = fopen(path, "re");
	if (!file || !fgets(backing, sizeof(backing), file))
		return false;
	backing[strcspn(backing, "\n")] = '\0';
	return file_in_memory(backing);
}

bool disk_is_made_of_others(const char *folder, uint32_t device)
{
	if (device >> MINOR_BITS == LOOP_MAJOR)
		return !loop_in_memory(folder);
	return has_entries(folder, "slaves") || has(folder, "dm") || has(folder, "md") || has_entries(folder, "multipath");
}
