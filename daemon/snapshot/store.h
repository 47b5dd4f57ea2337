/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file of a snapshot: text into a buffer, through gzip where wanted, to NAME.part, which becomes
 * NAME when it is whole. The folder is made where it is missing, and may be of somebody else who makes
 * links there: see inside.h. The worker's, one thread at a time.
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
};

struct store {
	const struct rights *rights;
	int folder_fd;
	int fd;
	char path[SNAPSHOT_PATH_SIZE]; /* FOLDER/NAME */
	uint32_t attempt;
	bool compress;
	int error; /* the first of a write, negative errno; what comes after it is dropped */
	size_t used;
	uint64_t rows, bytes, stored_bytes;
	struct sha256_ctx hash;
	z_stream deflate;
	char buffer[STORE_BUFFER_SIZE];
	unsigned char out[STORE_OUT_SIZE];
};

/* Removes what is left of FOLDER/NAME when it was not finished; `attempt` as for store_new(). */
void store_remove_part(int output_fd, const char *path, uint32_t attempt);

/*
 * Begins FOLDER/NAME; a name that ends in .gz is compressed. Until the file is whole, its name contains the
 * attempt, where that is not 0: what is left of another one may be removed at the same time. It is made,
 * renamed and removed with these rights, whatever those of the thread are; `rights` must stay valid.
 */
int store_new(int output_fd, const char *path, uint32_t attempt, const struct rights *rights, struct store **ret);

/* Room for `size` bytes, at most STORE_BUFFER_SIZE. Never NULL. */
char *store_reserve(struct store *store, size_t size);

static inline void store_commit(struct store *store, size_t size)
{
	store->used += size;
}

/* Writes any text, also one longer than the buffer. */
void store_text(struct store *store, const char *text, size_t size);

/* The file is whole: it gets its final name, and is described in `file`. */
int store_finish(struct store *store, struct snapshot_file *file);

/* Removes what was not finished. Takes NULL. */
void store_free(struct store *store);
