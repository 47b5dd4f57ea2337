// SPDX-License-Identifier: GPL-2.0-or-later
#include "amplification/disk.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "mount_list.h"

#define MINOR_BITS 20

enum { DEPTH_MAX = 16 }; /* of devices made of devices */

static uint32_t device_of(unsigned int major_number, unsigned int minor_number)
{
	return major_number << MINOR_BITS | minor_number;
}

static bool read_text(const char *path, char *text, size_t size)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	size_t length = file ? fread(text, 1, size - 1, file) : 0;

	text[length] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return length;
}

/* The number in the file `dev` of a folder of sysfs. */
static bool read_device(const char *folder, uint32_t *ret)
{
	unsigned int major_number, minor_number;
	char path[PATH_MAX], text[32];

	if ((size_t)snprintf(path, sizeof(path), "%s/dev", folder) >= sizeof(path) || !read_text(path, text, sizeof(text)))
		return false;
	if (sscanf(text, "%u:%u", &major_number, &minor_number) != 2)
		return false;
	*ret = device_of(major_number, minor_number);
	return true;
}

/* The one device that this one is made of; false if there are none or several. */
static bool find_slave(const char *folder, uint32_t *ret)
{
	char path[PATH_MAX], slave[PATH_MAX] = "";
	const struct dirent *entry;
	int count = 0;
	DIR *dir;

	if ((size_t)snprintf(path, sizeof(path), "%s/slaves", folder) >= sizeof(path))
		return false;
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' && !count++ &&
		    (size_t)snprintf(slave, sizeof(slave), "%s/%s", path, entry->d_name) >= sizeof(slave))
			count = 2;
	if (dir)
		closedir(dir);
	return count == 1 && read_device(slave, ret);
}

/* The mount that a path lies on, by the table alone: a file system that does not answer blocks nothing. */
static bool is_on(const char *path, const struct mount_entry *mount)
{
	size_t length = strlen(mount->path);

	return length == 1 || (!strncmp(path, mount->path, length) && (!path[length] || path[length] == '/'));
}

/* The file system of a loop device's file. */
static bool find_backing(const char *folder, uint32_t *ret)
{
	char path[PATH_MAX], file[PATH_MAX];
	struct mount_entry mount;
	struct mount_list list;
	size_t longest = 0;

	if ((size_t)snprintf(path, sizeof(path), "%s/loop/backing_file", folder) >= sizeof(path) ||
	    !read_text(path, file, sizeof(file)))
		return false;
	if (mount_list_read(NULL, &list) >= 0)
		while (mount_list_next(&list, &mount))
			if (is_on(file, &mount) && strlen(mount.path) >= longest) {
				longest = strlen(mount.path);
				*ret = mount.device;
			}
	mount_list_done(&list);
	return longest;
}

/* The block device of a file system that has a number of its own, as btrfs does. */
static bool find_source(const char *sys, uint32_t device, uint32_t *ret)
{
	struct mount_entry mount;
	struct mount_list list;
	bool found = false;
	char path[PATH_MAX];

	if (mount_list_read(NULL, &list) >= 0)
		while (!found && mount_list_next(&list, &mount))
			if (mount.device == device && !strncmp(mount.source, "/dev/", 5) &&
			    (size_t)snprintf(path, sizeof(path), "%s/class/block/%s", sys, strrchr(mount.source, '/') + 1) <
				    sizeof(path))
				found = read_device(path, ret);
	mount_list_done(&list);
	return found;
}

/* What lies below a device; `name` gets the device's own. False: nothing does, or several disks. */
static bool find_below(const char *sys, uint32_t device, uint32_t *ret, char name[DISK_NAME_SIZE])
{
	_cleanup_free_ char *folder = NULL;
	char path[PATH_MAX];

	snprintf(name, DISK_NAME_SIZE, "%u:%u", device >> MINOR_BITS, device & ((1U << MINOR_BITS) - 1));
	snprintf(path, sizeof(path), "%s/dev/block/%s", sys, name);
	folder = realpath(path, NULL);
	if (!folder)
		return find_source(sys, device, ret);
	snprintf(name, DISK_NAME_SIZE, "%s", strrchr(folder, '/') + 1);
	if ((size_t)snprintf(path, sizeof(path), "%s/partition", folder) < sizeof(path) && !access(path, F_OK)) {
		*strrchr(folder, '/') = '\0'; /* a partition's folder lies in that of its disk */
		return read_device(folder, ret);
	}
	return find_slave(folder, ret) || find_backing(folder, ret);
}

static void find_leaf(const char *sys, struct disk *disk)
{
	uint32_t below;

	disk->leaf = disk->device;
	for (int i = 0; i < DEPTH_MAX && find_below(sys, disk->leaf, &below, disk->name); i++)
		disk->leaf = below;
}

const struct disk *disks_find(struct disks *disks, uint32_t device)
{
	struct disk *disk;

	for (size_t i = 0; i < disks->count; i++)
		if (disks->known[i].device == device)
			return &disks->known[i];
	if (disks->count == disks->room) {
		struct disk *more = reallocarray(disks->known, disks->room * 2 + 16, sizeof(*more));

		if (!more)
			return NULL;
		disks->known = more;
		disks->room = disks->room * 2 + 16;
	}
	disk = &disks->known[disks->count++];
	*disk = (struct disk){ .device = device };
	find_leaf(disks->sys, disk);
	return disk;
}

void disks_done(struct disks *disks)
{
	free(disks->known);
	disks->known = NULL;
	disks->count = disks->room = 0;
}
