/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One component of a path as a number that the daemon and BPF programs compute in the same way: a fingerprint
 * of its bytes (words of 8 bytes padded with NULs, the last of which may be empty), a bit for the last
 * component, and its length.
 */
#pragma once

#include "mix.h"

#define IOTR_PART_LENGTH 0xffULL /* mask of the length in bytes */
#define IOTR_PART_LAST	 (1ULL << 8)
#define IOTR_PART_SHIFT	 9
#define IOTR_PART_NONE	 (~0ULL) /* the component is longer than a name can be */
#define IOTR_PART_UNREAD (~1ULL) /* its text cannot be read */

/* The number without the bit for the last component, by which names are compared. */
static inline __attribute__((always_inline)) __u64 iotr_part_name(__u64 part)
{
	return part & ~IOTR_PART_LAST;
}

/* The number of a component of less than 8 bytes. */
#define IOTR_PART_SHORT(word, length) (iotr_mix(0, word) << IOTR_PART_SHIFT | (length))
#define IOTR_PART_DOT		      IOTR_PART_SHORT(0x2e, 1)
#define IOTR_PART_DOTDOT	      IOTR_PART_SHORT(0x2e2e, 2)
