// SPDX-License-Identifier: GPL-2.0-or-later
#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "cleanup.h"
#include "probes/layers_private.h"
#include "tree.h"

#define MINOR_BITS 20
#define LOOP_MAJOR 7

void disks_look_again(struct layers_disks *disks)
{
	for (size_t i = 0; i < disks->count; i++)
		disks->known[i].fresh = false;
}

static bool has(const char *disk, const char *name)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/%s", disk, name);
	return access(path, F_OK) == 0;
}

/* Whether a folder of sysfs has anything in it. */
static bool has_entries(const char *disk, const char *name)
{
	char path[96];
	const struct dirent *entry;
	bool found = false;
	DIR *folder;

	snprintf(path, sizeof(path), "%s/%s", disk, name);
	folder = opendir(path);
	while (folder && !found && (entry = readdir(folder)))
		found = entry->d_name[0] != '.';
	if (folder)
		closedir(folder);
	return found;
}

/* Whether the file of a loop device is in memory, so that what the loop device does reaches no other disk. */
static bool loop_in_memory(const char *disk)
{
	char path[96], backing[4096];
	_cleanup_fclose_ FILE *file = NULL;
	_cleanup_close_ int fd = -1;
	struct statfs about;

	snprintf(path, sizeof(path), "%s/loop/backing_file", disk);
	file = fopen(path, "re");
	if (!file || !fgets(backing, sizeof(backing), file))
		return false;
	backing[strcspn(backing, "\n")] = '\0';
	fd = tree_open(backing, O_PATH);
	if (fd < 0 || fstatfs(fd, &about) < 0)
		return false;
	return about.f_type == TMPFS_MAGIC || about.f_type == RAMFS_MAGIC;
}

static bool look(const char *disk, uint32_t device)
{
	if (device >> MINOR_BITS == LOOP_MAJOR)
		return !loop_in_memory(disk);
	return has_entries(disk, "slaves") || has(disk, "dm") || has(disk, "md") || has_entries(disk, "multipath");
}

bool disk_is_stacked(struct layers_disks *disks, uint32_t device)
{
	char disk[64];
	size_t i = 0;
	bool exists;

	snprintf(disk, sizeof(disk), "/sys/dev/block/%u:%u", device >> MINOR_BITS, device & ((1U << MINOR_BITS) - 1));
	while (i < disks->count && disks->known[i].device != device)
		i++;
	if (i < disks->count && disks->known[i].fresh)
		return disks->known[i].stacked;
	exists = access(disk, F_OK) == 0;
	if (i == LAYERS_DISKS)
		return exists ? look(disk, device) : device >> MINOR_BITS == LOOP_MAJOR;
	if (i == disks->count) {
		disks->known[i].device = device;
		disks->known[i].stacked = device >> MINOR_BITS == LOOP_MAJOR;
		disks->count++;
	}
	if (exists)
		disks->known[i].stacked = look(disk, device);
	disks->known[i].fresh = true;
	return disks->known[i].stacked;
}
