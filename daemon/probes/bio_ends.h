/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The addresses of the kernel's completion functions of bios, and members of structs of modules. Main thread. */
#pragma once

#include <bpf/btf.h>
#include <stdbool.h>

#include "control.h"

/*
 * Fills page->bio_ends from the kernel's symbols, see symbols.h (0 for what is not there), and page->btrfs, page->loop, page->xfs,
 * page->ext4 and page->jbd2 from BTF. It takes tens of milliseconds.
 */
void bio_ends_find(const struct btf *kernel, int kallsyms, struct iotr_control *page);

/* The part of that which tells subvolumes of btrfs apart, as every stream's programs need it. Any thread. */
void subvolumes_find(const struct btf *kernel, struct iotr_control *page);

/*
 * Whether the page has what bio_ends_find() would find now: file systems and loop are mostly modules, loaded when the first one
 * is used, after which this is to be done again. That is seen by the inode numbers of the modules' folders in sysfs.
 */
bool bio_ends_known(const struct iotr_control *page);
