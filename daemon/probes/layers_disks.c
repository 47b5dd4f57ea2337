// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <unistd.h>

#include "probes/layers_private.h"
#include "stacked_disk.h"

#define MINOR_BITS 20
#define LOOP_MAJOR 7

void disks_look_again(struct layers_disks *disks)
{
	for (size_t i = 0; i < disks->count; i++)
		disks->known[i].fresh = false;
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
		return exists ? disk_is_made_of_others(disk, device) : device >> MINOR_BITS == LOOP_MAJOR;
	if (i == disks->count) {
		disks->known[i].device = device;
		disks->known[i].stacked = device >> MINOR_BITS == LOOP_MAJOR;
		disks->count++;
	}
	if (exists)
		disks->known[i].stacked = disk_is_made_of_others(disk, device);
	disks->known[i].fresh = true;
	return disks->known[i].stacked;
}
