/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps a file that is written from its beginning to its end out of the page cache, so that a trace does not push
 * out what the traced programs have there. Many bytes at once go past the cache (O_DIRECT), which also saves
 * copying them. Few bytes go through it, are written back by and by, and are then dropped from it. So a file has at
 * most about twice WRITE_BEHIND_STEP bytes in the page cache at any time.
 *
 * One thread at a time. An all-zero struct is one of an empty file. Errors are a negative errno; that bytes which
 * had gone into the cache did not reach the disk (EIO) is reported by a later call on the same file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	/* Data, offset and size of what goes past the cache are multiples of this: all disks can do that. */
	WRITE_BEHIND_BLOCK = 4096,
	WRITE_BEHIND_STEP = 1024 * 1024,
	WRITE_BEHIND_LITTLE = 256 * 1024, /* the end of a file is not waited for when no more than this is left */
};

struct write_behind {
	bool past;	   /* the descriptor has O_DIRECT now */
	bool refused;	   /* the file system cannot do that */
	uint64_t dropped;  /* nothing before this offset is in the cache */
	uint64_t starting; /* write-back of what is before this offset has begun */
	uint64_t cached;   /* nothing from this offset on is in the cache */
};

/* Writes through the cache. Returns how many bytes were taken, and in *error what stopped it or failed (0: nothing). */
size_t write_behind_put(struct write_behind *behind, int fd, const char *data, size_t size, uint64_t offset,
			int *error);

/*
 * Writes past the cache; returns when the disk has the bytes. 0 without an error: the file system cannot do that, or
 * data, size and offset are no multiples of the block.
 */
size_t write_behind_put_blocks(struct write_behind *behind, int fd, const char *data, size_t size,
			       uint64_t offset, int *error);

/*
 * The file is complete: waits until the disk has what is in the cache, and drops it from there. Of little, only the
 * write-back is begun: files that small may be many, and waiting for each would hold up who writes them.
 */
int write_behind_end(struct write_behind *behind, int fd);
