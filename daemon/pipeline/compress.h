/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text to gzip: a member for each MiB, one behind the other, which every reader of gzip takes as
 * one text. Any thread, one at a time for each compressor.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#define COMPRESS_LEVEL 4 /* well above 500 000 rows a second on one core; 1...12 */

struct compressor;

/* NULL: no memory, or no such level. */
struct compressor *compressor_new(int level);
void compressor_free(struct compressor *compressor); /* takes NULL */

/* Asked before `bytes` are written, and told after; a negative errno of `before` ends it. */
struct compress_guard {
	int (*before)(void *userdata, uint64_t bytes);
	void (*after)(void *userdata, uint64_t bytes, uint64_t written);
	void *userdata;
};

/* The first `size` bytes of `in` to the end of `out`. 0, or a negative errno. */
int compress_file(struct compressor *compressor, int in, uint64_t size, int out,
		  const struct compress_guard *guard);
