/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of block devices by number, and whether they are made of others, read from sysfs at first use and kept; one that was
 * not found is looked for again. A number that came to mean another disk keeps what was known of the old one. One thread at a
 * time. Bounded: DISKS_MAX names, of which the newest replaces the one in its slot.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
	DISKS_MAX = 256,
	DISKS_NAME_SIZE = 32,
};

struct disks {
	const char *folder; /* has MAJ:MIN/uevent */
	struct disk {
		uint32_t device; /* 0: free */
		char name[DISKS_NAME_SIZE];
		bool leaf;
	} disks[DISKS_MAX];
};

void disks_init(struct disks *disks, const char *folder);

/* "" when unknown; valid until the next call. */
const char *disks_name(struct disks *disks, uint32_t device);

/* Whether the disk is made of no others, so that what it does is done nowhere else; see stacked_disk.h. True where it is unknown. */
bool disks_leaf(struct disks *disks, uint32_t device);
