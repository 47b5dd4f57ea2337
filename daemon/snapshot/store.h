/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file of a snapshot: text into a buffer, through gzip where wanted, to NAME.part, which becomes
 * NAME when it is whole. The folder is made where it is missing. The worker's, one thread at a time.
 */
#pragma once

#include <nettle/sha2.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

#include "snapshot.h"

enum {
	STORE_BUFFER_SIZE = 256 * 1024,
	STORE_OUT_SIZE = 64 * 1024,
	STORE_PART_SIZE = SNAPSHOT_PATH_SIZE + sizeof(".part") - 1,
};

struct store {
	int output_fd; /* not owned */
	int fd;
	char path[SNAPSHOT_PATH_SIZE]; /* FOLDER/NAME */
	bool compress;
	int error; /* the first of a write, negative errno; what comes after it is dropped */
	size_t used;
	uint64_t rows, bytes, stored_bytes;
	struct sha256_ctx hash;
	z_stream deflate;
	char buffer[STORE_BUFFER_SIZE];
	unsigned char out[STORE_OUT_SIZE];
};

/* The name of a file that is not whole. */
void store_part(const char *path, char part[STORE_PART_SIZE]);

/* FOLDER/NAME; a name that ends in .gz is compressed. */
int store_new(int output_fd, const char *path, struct store **ret);

/* Room for `size` bytes, at most STORE_BUFFER_SIZE. Never NULL. */
char *store_reserve(struct store *store, size_t size);

static inline void store_commit(struct store *store, size_t size)
{
	store->used += size;
}

/* Any text, also longer than the buffer. */
void store_text(struct store *store, const char *text, size_t size);

/* The file is whole: it gets its name, and is told in `file`. */
int store_finish(struct store *store, struct snapshot_file *file);

/* Removes what was not finished. Takes NULL. */
void store_free(struct store *store);
