/* SPDX-License-Identifier: GPL-2.0-or-later */
/* File systems whose files have other device numbers than the disks that they are on, as on btrfs. Any thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { DISK_FILES_MAX = 64 }; /* limit of device numbers found for one disk */

/*
 * Finds the device numbers (major << 20 | minor) of files on a disk: those of the file systems without a
 * disk's number that are mounted now and use it, also as one of several disks. Stores each number once in
 * `ret`, which has room for DISK_FILES_MAX, and returns how many there are.
 */
size_t disk_files(uint32_t disk, uint32_t *ret);
