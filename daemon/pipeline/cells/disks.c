// SPDX-License-Identifier: GPL-2.0-or-later
#include "disks.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "stacked_disk.h"

#define MINOR_BITS 20
#define MINOR_MASK ((1U << MINOR_BITS) - 1)

void disks_init(struct disks *disks, const char *folder)
{
	memset(disks, 0, sizeof(*disks));
	disks->folder = folder;
}

/* Reads the name from the line DEVNAME=sda of the device's uevent file. */
static void read_name(const struct disks *disks, uint32_t device, char name[DISKS_NAME_SIZE])
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[PATH_MAX], line[256];

	name[0] = '\0';
	snprintf(path, sizeof(path), "%s/%u:%u/uevent", disks->folder, device >> MINOR_BITS,
		 device & MINOR_MASK);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "DEVNAME=%31s", name) == 1)
			return;
}

static bool read_leaf(const struct disks *disks, uint32_t device)
{
	char path[PATH_MAX];

	return (size_t)snprintf(path, sizeof(path), "%s/%u:%u", disks->folder, device >> MINOR_BITS, device & MINOR_MASK) >=
		       sizeof(path) || !disk_is_made_of_others(path, device);
}

/* What is known of a disk, which is not 0. */
static struct disk *find(struct disks *disks, uint32_t device)
{
	struct disk *disk = &disks->disks[(device ^ device >> MINOR_BITS) % DISKS_MAX];

	if (disk->device == device)
		return disk;
	read_name(disks, device, disk->name);
	disk->leaf = !disk->name[0] || read_leaf(disks, device);
	disk->device = disk->name[0] ? device : 0;
	return disk;
}

const char *disks_name(struct disks *disks, uint32_t device)
{
	return device ? find(disks, device)->name : "";
}

bool disks_leaf(struct disks *disks, uint32_t device)
{
	return !device || find(disks, device)->leaf;
}
