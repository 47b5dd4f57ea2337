// SPDX-License-Identifier: GPL-2.0-or-later
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "sha256_hex.h"

#define FOLDER_MODE  0750
#define FILE_MODE    0640
#define GZIP_LEVEL   1 /* half the time of the usual 6, for a quarter more bytes */
#define GZIP_WINDOW  (15 + 16)
#define GZIP_MEMORY  9

DEFINE_CLEANUP(struct store *, store_free);

void store_part(const char *path, char part[STORE_PART_SIZE])
{
	snprintf(part, STORE_PART_SIZE, "%s.part", path);
}

static int open_file(struct store *store)
{
	char folder[SNAPSHOT_PATH_SIZE], part[STORE_PART_SIZE];

	snprintf(folder, sizeof(folder), "%.*s", (int)strcspn(store->path, "/"), store->path);
	if (mkdirat(store->output_fd, folder, FOLDER_MODE) < 0 && errno != EEXIST)
		return -errno;
	store_part(store->path, part);
	if (unlinkat(store->output_fd, part, 0) < 0 && errno != ENOENT)
		return -errno;
	store->fd = openat(store->output_fd, part,
			   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
	return store->fd < 0 ? -errno : 0;
}

int store_new(int output_fd, const char *path, struct store **ret)
{
	_cleanup_(store_freep) struct store *store = calloc(1, sizeof(*store));
	size_t length = strlen(path);
	int r;

	if (!store)
		return -ENOMEM;
	store->output_fd = output_fd;
	store->fd = -1;
	snprintf(store->path, sizeof(store->path), "%s", path);
	sha256_init(&store->hash);
	if (length > 3 && !strcmp(path + length - 3, ".gz")) {
		store->compress = true;
		if (deflateInit2(&store->deflate, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY,
				 Z_DEFAULT_STRATEGY) != Z_OK)
			return -ENOMEM;
	}
	r = open_file(store);
	if (r < 0)
		return r;
	*ret = TAKE(store);
	return 0;
}

static void write_bytes(struct store *store, const void *bytes, size_t size)
{
	const char *at = bytes;

	while (size && !store->error) {
		ssize_t written = write(store->fd, at, size);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0) {
			store->error = written < 0 ? -errno : -EIO;
			return;
		}
		at += written;
		size -= (size_t)written;
		store->stored_bytes += (uint64_t)written;
	}
}

static void compress_bytes(struct store *store, const char *bytes, size_t size, int how)
{
	z_stream *deflate_ = &store->deflate;

	deflate_->next_in = (unsigned char *)bytes;
	deflate_->avail_in = (unsigned int)size;
	do {
		deflate_->next_out = store->out;
		deflate_->avail_out = STORE_OUT_SIZE;
		deflate(deflate_, how);
		write_bytes(store, store->out, STORE_OUT_SIZE - deflate_->avail_out);
	} while (!deflate_->avail_out && !store->error);
}

static void flush(struct store *store, int how)
{
	store->bytes += store->used;
	sha256_update(&store->hash, store->used, (const uint8_t *)store->buffer);
	if (store->compress)
		compress_bytes(store, store->buffer, store->used, how);
	else
		write_bytes(store, store->buffer, store->used);
	store->used = 0;
}

char *store_reserve(struct store *store, size_t size)
{
	if (store->used + size > STORE_BUFFER_SIZE)
		flush(store, Z_NO_FLUSH);
	return store->buffer + store->used;
}

void store_text(struct store *store, const char *text, size_t size)
{
	while (size) {
		size_t part = size < STORE_BUFFER_SIZE ? size : STORE_BUFFER_SIZE;

		memcpy(store_reserve(store, part), text, part);
		store_commit(store, part);
		text += part;
		size -= part;
	}
}

static void describe(struct store *store, struct snapshot_file *file)
{
	memset(file, 0, sizeof(*file));
	snprintf(file->path, sizeof(file->path), "%s", store->path);
	file->rows = store->rows;
	file->bytes = store->bytes;
	file->stored_bytes = store->stored_bytes;
	sha256_hex(&store->hash, file->sha256);
}

int store_finish(struct store *store, struct snapshot_file *file)
{
	char part[STORE_PART_SIZE];

	flush(store, Z_FINISH);
	if (store->error)
		return store->error;
	store_part(store->path, part);
	if (close(take_fd(&store->fd)) < 0 ||
	    renameat(store->output_fd, part, store->output_fd, store->path) < 0) {
		store->error = -errno;
		unlinkat(store->output_fd, part, 0);
		return store->error;
	}
	describe(store, file);
	return 0;
}

void store_free(struct store *store)
{
	char part[STORE_PART_SIZE];

	if (!store)
		return;
	if (store->fd >= 0) {
		store_part(store->path, part);
		unlinkat(store->output_fd, part, 0);
		close(store->fd);
	}
	if (store->compress)
		deflateEnd(&store->deflate);
	free(store);
}
