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
#include "inside.h"
#include "sha256_hex.h"

#define GZIP_LEVEL   1 /* half the time of the usual 6, for a quarter more bytes */
#define GZIP_WINDOW  (15 + 16)
#define GZIP_MEMORY  9

DEFINE_CLEANUP(struct store *, store_free);

/* The two parts of FOLDER/NAME; the second is the file's name until the file is whole. */
struct location {
	char folder[SNAPSHOT_PATH_SIZE];
	char part[SNAPSHOT_PATH_SIZE + sizeof(".4294967295.part")];
};

static const char *name_of(const char *path)
{
	return strchr(path, '/') + 1;
}

static struct location location_of(const char *path, uint32_t attempt)
{
	size_t length = strcspn(path, "/");
	struct location location;

	if (length >= sizeof(location.folder))
		length = sizeof(location.folder) - 1;
	memcpy(location.folder, path, length);
	location.folder[length] = '\0';
	if (attempt)
		snprintf(location.part, sizeof(location.part), "%s.%u.part", name_of(path), attempt);
	else
		snprintf(location.part, sizeof(location.part), "%s.part", name_of(path));
	return location;
}

void store_remove_part(int output_fd, const char *path, uint32_t attempt)
{
	struct location location = location_of(path, attempt);
	_cleanup_close_ int folder = inside_folder(output_fd, location.folder);

	if (folder >= 0)
		unlinkat(folder, location.part, 0);
}

static int open_file(struct store *store, int output_fd)
{
	struct location location = location_of(store->path, store->attempt);

	store->folder_fd = inside_make_folder(output_fd, location.folder);
	if (store->folder_fd == -EEXIST)
		store->folder_fd = inside_folder(output_fd, location.folder);
	if (store->folder_fd < 0)
		return store->folder_fd;
	if (unlinkat(store->folder_fd, location.part, 0) < 0 && errno != ENOENT)
		return -errno;
	store->fd = inside_create(store->folder_fd, location.part, O_WRONLY);
	return store->fd < 0 ? store->fd : 0;
}

int store_new(int output_fd, const char *path, uint32_t attempt, const struct rights *rights, struct store **ret)
{
	_cleanup_(store_freep) struct store *store = calloc(1, sizeof(*store));
	size_t length = strlen(path);
	const struct rights *before;
	int r;

	if (!store)
		return -ENOMEM;
	store->folder_fd = store->fd = -1;
	store->rights = rights;
	store->attempt = attempt;
	snprintf(store->path, sizeof(store->path), "%s", path);
	sha256_init(&store->hash);
	if (length > 3 && !strcmp(path + length - 3, ".gz")) {
		store->compress = true;
		if (deflateInit2(&store->deflate, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY,
				 Z_DEFAULT_STRATEGY) != Z_OK)
			return -ENOMEM;
	}
	before = rights_use(rights);
	r = open_file(store, output_fd);
	rights_use(before);
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

/* Syncs the file's name, and that of its folder, which may be new; we may not be allowed to open the folder above. */
static int sync_names(const struct store *store)
{
	_cleanup_close_ int above = openat(store->folder_fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fsync(store->folder_fd) < 0 || (above >= 0 && fsync(above) < 0))
		return -errno;
	return 0;
}

/* Syncs the file and gives it its final name, under which it is whole also after a power failure. */
static int put_in_place(struct store *store)
{
	struct location location = location_of(store->path, store->attempt);
	const char *there = location.part;
	int synced = fsync(store->fd) < 0 ? -errno : 0;

	if (close(take_fd(&store->fd)) < 0)
		store->error = -errno;
	if (synced < 0)
		store->error = synced;
	if (!store->error && renameat(store->folder_fd, location.part, store->folder_fd, name_of(store->path)) < 0)
		store->error = -errno;
	if (!store->error) {
		there = name_of(store->path);
		store->error = sync_names(store);
	}
	if (store->error)
		unlinkat(store->folder_fd, there, 0);
	return store->error;
}

int store_finish(struct store *store, struct snapshot_file *file)
{
	const struct rights *before;
	int r;

	flush(store, Z_FINISH);
	if (store->error)
		return store->error;
	before = rights_use(store->rights);
	r = put_in_place(store);
	rights_use(before);
	if (r >= 0)
		describe(store, file);
	return r;
}

void store_free(struct store *store)
{
	if (!store)
		return;
	if (store->fd >= 0) {
		const struct rights *before = rights_use(store->rights);

		unlinkat(store->folder_fd, location_of(store->path, store->attempt).part, 0);
		rights_use(before);
		close(store->fd);
	}
	closep(&store->folder_fd);
	if (store->compress)
		deflateEnd(&store->deflate);
	free(store);
}
