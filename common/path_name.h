/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One part of a path as a number, reckoned alike by the daemon and by BPF: a fingerprint of its
 * bytes, taken as words of 8 that are padded with NULs, the last of which may have no byte at all;
 * whether it is the last part; and its length.
 */
#pragma once

#include "mix.h"

#define IOTR_PART_LENGTH 0xffULL /* bits of the length */
#define IOTR_PART_LAST	 (1ULL << 8)
#define IOTR_PART_SHIFT	 9
#define IOTR_PART_NONE	 (~0ULL) /* unreadable, or longer than a name can be */

/* Without the mark of the last one: what names are compared by. */
static inline __attribute__((always_inline)) __u64 iotr_part_name(__u64 part)
{
	return part & ~IOTR_PART_LAST;
}

/* Of a part that has less than 8 bytes. */
#define IOTR_PART_SHORT(word, length) (iotr_mix(0, word) << IOTR_PART_SHIFT | (length))
#define IOTR_PART_DOT		      IOTR_PART_SHORT(0x2e, 1)
#define IOTR_PART_DOTDOT	      IOTR_PART_SHORT(0x2e2e, 2)
