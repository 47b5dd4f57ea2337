/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fingerprints that the daemon and BPF programs compute in the same way. They are not cryptographic. */
#pragma once

#include <linux/types.h>

/* Extends the fingerprint by another word; the fingerprint of no words is 0. */
static inline __attribute__((always_inline)) __u64 iotr_mix(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
	return hash ^ (hash >> 29);
}
