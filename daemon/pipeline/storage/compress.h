/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text to gzip: a member for each MiB, one after the other, which every reader of gzip takes as one
 * text. Any thread, one at a time for each compressor.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define COMPRESS_LEVEL 4 /* well above 500 000 rows a second on one core; 1...12 */

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

/* Compresses the first `size` bytes of `in`, which may be 0, to the end of `out`. 0, or a negative errno. */
int compress_file(struct compressor *compressor, int in, uint64_t size, int out,
		  const struct compress_guard *guard);
