/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The disk that a file system lies on in the end, if it is one alone. Answers are kept for a moment. One thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { DISK_NAME_SIZE = 64 };

struct disk {
	uint32_t device; /* that was asked for, as the kernel has it: major << 20 | minor */
	uint32_t leaf;	 /* its disk; the device itself if it has none, or several */
	char name[DISK_NAME_SIZE]; /* of the leaf: "vda", or "0:45" for what is no block device */
};

/* Answers for one request; all-zero but for `sys`, which the caller sets. */
struct disks {
	const char *sys; /* where sysfs is mounted */
	struct disk *known;
	size_t count, room;
};

/* Valid until the next call; NULL without memory. */
const struct disk *disks_find(struct disks *disks, uint32_t device);
void disks_done(struct disks *disks);
