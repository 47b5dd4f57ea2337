/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text to gzip: a member for each MiB, one after the other, which every reader of gzip takes as one
 * text. Any thread, one at a time for each compressor.
 *
 * It leaves the page cache to others: the text is read past it where the file system can do that, and dropped from it
 * otherwise; what is written goes to the disk piece by piece, and is dropped then. At most some 3 MiB of pages are its.
 */
#pragma once

#include <nettle/sha2.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define COMPRESS_LEVEL 1 /* above five million rows a second on one core; 0...3, 2 and 3 gain nothing */

struct compressor;

/* NULL: no memory, or no such level. */
struct compressor *compressor_new(int level);
void compressor_free(struct compressor *compressor); /* takes NULL */

/*
 * `computes` is called when computing begins and when it ends; the rest of the time is reading and writing.
 * `before` is called before `bytes` are written, and a negative errno from it ends the compression; `after` is
 * called when they are written.
 */
struct compress_guard {
	void (*computes)(void *userdata, bool begins);
	int (*before)(void *userdata, uint64_t bytes);
	void (*after)(void *userdata, uint64_t bytes, uint64_t written);
	void *userdata;
};

/*
 * Compresses the first `size` bytes of `in`, which may be 0, to `out`, which is empty. The flags of `in` may be others
 * afterwards. 0 and the SHA-256 of what was written, or a negative errno.
 */
int compress_file(struct compressor *compressor, int in, uint64_t size, int out, const struct compress_guard *guard,
		  uint8_t sha256[SHA256_DIGEST_SIZE]);
