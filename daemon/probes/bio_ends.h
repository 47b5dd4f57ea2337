/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The addresses of the kernel's completion functions of bios. Main thread. */
#pragma once

#include <bpf/btf.h>
#include <stdint.h>

#include "control.h"

/*
 * Fills page->bio_ends from /proc/kallsyms (0 for what is not there), and page->btrfs_bio from BTF. Returns a version
 * to compare with bio_ends_version(): btrfs and XFS are mostly modules, loaded with the first mount of one, after which
 * this is to be done again.
 */
uint64_t bio_ends_find(const struct btf *kernel, struct iotr_control *page);

/* What bio_ends_find() would return now: made of the inode numbers of the modules' folders in sysfs. */
uint64_t bio_ends_version(void);
