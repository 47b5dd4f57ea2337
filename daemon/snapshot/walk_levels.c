// SPDX-License-Identifier: GPL-2.0-or-later
/* The folders that a walk is in, from the root down: entered, read entry by entry, and left again. */
#include "walk_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cleanup.h"

#define STAT_FLAGS (AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC)
#define STAT_MASK  (STATX_BASIC_STATS | STATX_BTIME)

struct record { /* of getdents64() */
	uint64_t inode;
	int64_t offset; /* of the next record */
	unsigned short length;
	unsigned char type;
	char name[];
};

/* ---- calls that may hang ---- */

int walk_look(struct walk *walk, int fd, const char *name, int flags, struct statx *stat)
{
	int r = GUARDED(walk->config.guard, statx(fd, name, flags | STAT_FLAGS, STAT_MASK, stat));

	return r < 0 ? -errno : 0;
}

int walk_open(struct walk *walk, int fd, const char *name)
{
	int r = GUARDED(walk->config.guard, openat(fd, name, WALK_OPEN_FLAGS | O_NOATIME));

	if (r < 0 && errno == EPERM)
		r = GUARDED(walk->config.guard, openat(fd, name, WALK_OPEN_FLAGS));
	return r < 0 ? -errno : r;
}

static ssize_t read_folder(struct walk *walk, int fd)
{
	ssize_t r;

	walk->reading = true;
	r = GUARDED(walk->config.guard, syscall(SYS_getdents64, fd, walk->buffer, WALK_CHUNK_SIZE));
	walk->reading = false;
	return r < 0 ? -errno : r;
}

/* ---- the folders ---- */

/* Whether something is mounted on an entry of the folder. */
static bool has_mounts(const struct walk *walk)
{
	size_t length = walk->path_length > 1 ? walk->path_length : 0;

	for (size_t i = mountinfo_below(&walk->mounts, walk->path, length); i < walk->mounts.count; i++) {
		const char *at = walk->mounts.entries[i].mount.path;

		if (strncmp(at, walk->path, length) || at[length] != '/')
			return false;
		if (at[length + 1] && !strchr(at + length + 1, '/'))
			return true;
	}
	return false;
}

static int push(struct walk *walk, int fd, uint64_t inode)
{
	if (walk->level_count == walk->level_capacity) {
		size_t capacity = walk->level_capacity ? 2 * walk->level_capacity : 16;
		void *levels = reallocarray(walk->levels, capacity, sizeof(*walk->levels));

		if (!levels)
			return -ENOMEM;
		walk->levels = levels;
		walk->level_capacity = capacity;
	}
	walk->levels[walk->level_count++] = (struct walk_level){
		.fd = fd,
		.inode = inode,
		.path_length = walk->path_length,
		.has_mounts = has_mounts(walk),
	};
	return 0;
}

void walk_drop(struct walk *walk)
{
	struct walk_level *level = walk_top(walk);

	closep(&level->fd);
	free(level->rest);
	walk->level_count--;
}

/* The folder above, opened by way of the one below, if it is still the same. */
static int reopen(struct walk *walk, struct walk_level *level, int below)
{
	struct statx stat;
	int fd, r;

	fd = walk_open(walk, below, "..");
	r = fd < 0 ? fd : walk_look(walk, fd, "", AT_EMPTY_PATH, &stat);
	if (r >= 0 && (stat.stx_ino != level->inode || stat.stx_dev_major != walk->major ||
		       stat.stx_dev_minor != walk->minor ||
		       lseek(fd, level->offset, SEEK_SET) < 0))
		r = -ESTALE;
	if (r < 0) {
		closep(&fd);
		return r;
	}
	level->fd = fd;
	return 0;
}

/* Leaves the folder. Those above that cannot be found again are given up. */
static void pop(struct walk *walk)
{
	_cleanup_close_ int below = take_fd(&walk_top(walk)->fd);

	walk_drop(walk);
	if (!walk->level_count || walk_top(walk)->fd >= 0)
		return;
	if (below >= 0 && reopen(walk, walk_top(walk), below) >= 0)
		return;
	while (walk->level_count && walk_top(walk)->fd < 0) {
		walk->skipped++;
		walk_drop(walk);
	}
}

/* Moves what is left in the buffer to the level, as the buffer is needed for the folder below. */
static int keep_rest(struct walk *walk, struct walk_level *level)
{
	size_t left = level->size - level->at;

	if (level->rest || !left)
		return 0;
	level->rest = malloc(left);
	if (!level->rest)
		return -ENOMEM;
	memcpy(level->rest, walk->buffer + level->at, left);
	level->size = left;
	level->at = 0;
	return 0;
}

static void close_for_now(struct walk_level *level)
{
	level->offset = lseek(level->fd, 0, SEEK_CUR);
	close(take_fd(&level->fd));
}

int walk_enter(struct walk *walk, int fd, uint64_t inode)
{
	struct walk_level *above = walk_top(walk);
	int r = above ? keep_rest(walk, above) : 0;

	if (r >= 0)
		r = push(walk, fd, inode);
	if (r >= 0 && walk->level_count > WALK_OPEN_MAX)
		close_for_now(&walk->levels[walk->level_count - 2]);
	return r;
}

/* Reads entries into the buffer; when there are none, the level is done. */
static void refill(struct walk *walk, struct walk_level *level)
{
	ssize_t size;

	free(TAKE(level->rest));
	size = read_folder(walk, level->fd);
	if (size <= 0) {
		walk->skipped += size < 0 && size != -ENOENT;
		pop(walk);
		return;
	}
	level->at = 0;
	level->size = (size_t)size;
}

const char *walk_next(struct walk *walk)
{
	struct walk_level *level = walk_top(walk);
	const struct record *record;

	if (level->at == level->size) {
		refill(walk, level);
		return NULL;
	}
	record = (const void *)((level->rest ?: walk->buffer) + level->at);
	level->at += record->length;
	return record->name;
}

/* ---- a folder that hangs ---- */

/* Buffers that calls which hang may still write to: never freed. */
struct given_up {
	struct given_up *next;
	char *buffer;
};

static struct given_up *given_up;

/* The thread that hangs keeps the descriptor and the buffer that its call works on. */
void walk_give_up(struct walk *walk)
{
	struct given_up *one = malloc(sizeof(*one));

	take_fd(&walk_top(walk)->fd);
	walk_drop(walk);
	if (one)
		*one = (struct given_up){ given_up, walk->buffer };
	given_up = one ?: given_up;
	walk->buffer = malloc(WALK_CHUNK_SIZE);
	if (!walk->buffer)
		walk->error = -ENOMEM;
}
