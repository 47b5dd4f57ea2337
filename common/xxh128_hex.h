/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Formats an XXH3-128 as manifests contain it, and as `xxhsum -H2` prints it. Any thread. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <xxhash.h>

enum { XXH128_HEX_SIZE = 2 * sizeof(XXH128_canonical_t) + 1 };

/* Formats the checksum of the data that the state has seen, which may see more. */
static inline void xxh128_hex(const XXH3_state_t *state, char text[XXH128_HEX_SIZE])
{
	XXH128_hash_t sum = XXH3_128bits_digest(state);

	snprintf(text, XXH128_HEX_SIZE, "%016llx%016llx", (unsigned long long)sum.high64,
		 (unsigned long long)sum.low64);
}
