/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SipHash-1-3 (Aumasson and Bernstein): a fingerprint of words under a secret key. One round for each word, three at the end. */
#pragma once

#include <linux/types.h>

struct siphash {
	__u64 v0, v1, v2, v3;
};

#define SIPHASH_ROTATE(word, bits) ((word) << (bits) | (word) >> (64 - (bits)))

static __always_inline void siphash_round(struct siphash *hash)
{
	hash->v0 += hash->v1;
	hash->v1 = SIPHASH_ROTATE(hash->v1, 13) ^ hash->v0;
	hash->v0 = SIPHASH_ROTATE(hash->v0, 32);
	hash->v2 += hash->v3;
	hash->v3 = SIPHASH_ROTATE(hash->v3, 16) ^ hash->v2;
	hash->v0 += hash->v3;
	hash->v3 = SIPHASH_ROTATE(hash->v3, 21) ^ hash->v0;
	hash->v2 += hash->v1;
	hash->v1 = SIPHASH_ROTATE(hash->v1, 17) ^ hash->v2;
	hash->v2 = SIPHASH_ROTATE(hash->v2, 32);
}

static __always_inline struct siphash siphash_begin(__u64 key0, __u64 key1)
{
	struct siphash hash = {
		key0 ^ 0x736f6d6570736575ULL,
		key1 ^ 0x646f72616e646f6dULL,
		key0 ^ 0x6c7967656e657261ULL,
		key1 ^ 0x7465646279746573ULL,
	};

	return hash;
}

static __always_inline void siphash_word(struct siphash *hash, __u64 word)
{
	hash->v3 ^= word;
	siphash_round(hash);
	hash->v0 ^= word;
}

static __always_inline __u64 siphash_end(struct siphash *hash)
{
	hash->v2 ^= 0xff;
	siphash_round(hash);
	siphash_round(hash);
	siphash_round(hash);
	return hash->v0 ^ hash->v1 ^ hash->v2 ^ hash->v3;
}
