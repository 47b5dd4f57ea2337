/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Formats a SHA-256 as manifests contain it. Any thread. */
#pragma once

#include <nettle/sha2.h>
#include <stdio.h>

enum { SHA256_HEX_SIZE = 2 * SHA256_DIGEST_SIZE + 1 };

static inline void sha256_format(const uint8_t digest[SHA256_DIGEST_SIZE], char text[SHA256_HEX_SIZE])
{
	for (size_t i = 0; i < SHA256_DIGEST_SIZE; i++)
		snprintf(text + 2 * i, 3, "%02x", digest[i]);
}

/* Formats the digest of the data hashed so far, and resets the hash. */
static inline void sha256_hex(struct sha256_ctx *hash, char text[SHA256_HEX_SIZE])
{
	uint8_t digest[SHA256_DIGEST_SIZE];

	sha256_digest(hash, sizeof(digest), digest);
	sha256_format(digest, text);
}
