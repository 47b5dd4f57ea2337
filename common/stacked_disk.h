/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a disk is made of others: what is asked of it is asked of them again, and counts there. Any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * `folder`: of the disk in sysfs; `device`: major << 20 | minor. True for device mapper, md, the head of an NVMe multipath, and
 * a loop device unless its file is in memory. Reads sysfs and the table of mounts; no other file system is accessed.
 */
bool disk_is_made_of_others(const char *folder, uint32_t device);
