/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fingerprints, reckoned alike by the daemon and by BPF: not against an enemy. */
#pragma once

#include <linux/types.h>

/* The fingerprint with another word behind; that of nothing is 0. */
static inline __attribute__((always_inline)) __u64 iotr_mix(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
	return hash ^ (hash >> 29);
}
