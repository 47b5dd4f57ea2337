// SPDX-License-Identifier: GPL-2.0-or-later
#include "walk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cleanup.h"

#define CHUNK_SIZE (64 * 1024)
#define STAT_FLAGS (AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC)
#define STAT_MASK  (STATX_BASIC_STATS | STATX_BTIME)
#define OPEN_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)

struct record { /* of getdents64() */
	uint64_t inode;
	int64_t offset; /* of the next record */
	unsigned short length;
	unsigned char type;
	char name[];
};

/* A folder that is being read. */
struct level {
	int fd; /* -1: to be opened again */
	bool has_mounts;
	uint64_t inode;
	size_t path_length;
	int64_t offset; /* where to read on, while it is closed */
	/* Entries that were read and are left; NULL: they are in the walk's buffer, or there are none */
	char *rest;
	size_t size, at;
};

/* A folder that a bind mount shows again. */
struct bind {
	uint64_t inode;
	bool done;
};

enum stage {
	STAGE_ROOT,
	STAGE_BINDS,
	STAGE_TREE,
	STAGE_END,
};

enum doing {
	DOING_OTHER,
	DOING_READ,   /* reading a folder: if that hangs, all of it is given up */
	DOING_RETURN, /* opening the folder above */
};

struct walk {
	struct walk_config config;
	struct mountinfo mounts;
	uint32_t root_device; /* as the table of mounts has it, which may not be st_dev */
	uint32_t major, minor;
	struct bind *binds;
	size_t bind_count;
	size_t mount_at; /* the next one to look at in STAGE_BINDS */
	enum stage stage;
	enum doing doing;
	struct level *levels;
	size_t level_count, level_capacity;
	char *path;
	size_t path_length, path_capacity;
	char *buffer;
	uint64_t skipped;
	int error; /* that ends the walk */
};

int walk_new(const struct walk_config *config, struct walk **ret)
{
	struct walk *walk = calloc(1, sizeof(*walk));
	int r = -ENOMEM;

	if (walk) {
		walk->config = *config;
		walk->path_capacity = 2 * PATH_MAX;
		walk->path = malloc(walk->path_capacity);
		walk->buffer = malloc(CHUNK_SIZE);
		r = walk->path && walk->buffer ? mountinfo_read(config->mountinfo, &walk->mounts)
					       : -ENOMEM;
	}
	if (r < 0) {
		walk_free(walk);
		return r;
	}
	snprintf(walk->path, walk->path_capacity, "%s", config->root);
	*ret = walk;
	return 0;
}

void walk_free(struct walk *walk)
{
	if (!walk)
		return;
	for (size_t i = 0; i < walk->level_count; i++) {
		closep(&walk->levels[i].fd);
		free(walk->levels[i].rest);
	}
	free(walk->levels);
	free(walk->binds);
	free(walk->path);
	free(walk->buffer);
	mountinfo_done(&walk->mounts);
	free(walk);
}

uint64_t walk_skipped(const struct walk *walk)
{
	return walk->skipped;
}

/* ---- calls that may hang ---- */

static int look(struct walk *walk, int fd, const char *name, int flags, struct statx *stat)
{
	int r = GUARDED(walk->config.guard, statx(fd, name, flags | STAT_FLAGS, STAT_MASK, stat));

	return r < 0 ? -errno : 0;
}

/* Opens a folder so that reading it leaves its access time alone, where we may ask for that. */
static int open_folder(struct walk *walk, int fd, const char *name)
{
	int r = GUARDED(walk->config.guard, openat(fd, name, OPEN_FLAGS | O_NOATIME));

	if (r < 0 && errno == EPERM)
		r = GUARDED(walk->config.guard, openat(fd, name, OPEN_FLAGS));
	return r < 0 ? -errno : r;
}

static ssize_t read_folder(struct walk *walk, int fd)
{
	ssize_t r;

	walk->doing = DOING_READ;
	r = GUARDED(walk->config.guard, syscall(SYS_getdents64, fd, walk->buffer, CHUNK_SIZE));
	walk->doing = DOING_OTHER;
	return r < 0 ? -errno : r;
}

/* ---- levels ---- */

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
	walk->levels[walk->level_count++] = (struct level){
		.fd = fd,
		.inode = inode,
		.path_length = walk->path_length,
		.has_mounts = has_mounts(walk),
	};
	return 0;
}

static struct level *top(struct walk *walk)
{
	return walk->level_count ? &walk->levels[walk->level_count - 1] : NULL;
}

static void drop(struct walk *walk)
{
	struct level *level = top(walk);

	closep(&level->fd);
	free(level->rest);
	walk->level_count--;
}

/* The folder above, opened by way of the one below, if it is still the same. */
static int reopen(struct walk *walk, struct level *level, int below)
{
	struct statx stat;
	int fd, r;

	walk->doing = DOING_RETURN;
	fd = open_folder(walk, below, "..");
	r = fd < 0 ? fd : look(walk, fd, "", AT_EMPTY_PATH, &stat);
	walk->doing = DOING_OTHER;
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
	_cleanup_close_ int below = take_fd(&top(walk)->fd);

	drop(walk);
	if (!walk->level_count || top(walk)->fd >= 0)
		return;
	if (below >= 0 && reopen(walk, top(walk), below) >= 0)
		return;
	while (walk->level_count && top(walk)->fd < 0) {
		walk->skipped++;
		drop(walk);
	}
}

/* Moves what is left in the buffer to the level, as the buffer is needed for the folder below. */
static int keep_rest(struct walk *walk, struct level *level)
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

static void close_for_now(struct level *level)
{
	level->offset = lseek(level->fd, 0, SEEK_CUR);
	close(take_fd(&level->fd));
}

/* Whether the walk has been in this folder, by way of a bind mount or of the folder that it shows. */
static bool seen(struct walk *walk, uint64_t inode)
{
	bool before = false;

	for (size_t i = 0; i < walk->bind_count; i++)
		if (walk->binds[i].inode == inode) {
			before |= walk->binds[i].done;
			walk->binds[i].done = true;
		}
	return before;
}

static int descend(struct walk *walk, const char *name, const struct statx *stat)
{
	struct level *level = top(walk);
	struct statx now;
	int fd, r;

	if (walk->level_count >= walk->config.depth || stat->stx_dev_major != walk->major ||
	    stat->stx_dev_minor != walk->minor || seen(walk, stat->stx_ino))
		return 0;
	fd = open_folder(walk, level->fd, name);
	r = fd < 0 ? fd : look(walk, fd, "", AT_EMPTY_PATH, &now);
	if (r >= 0 && (now.stx_ino != stat->stx_ino || now.stx_dev_major != walk->major ||
		       now.stx_dev_minor != walk->minor))
		r = -ENOENT; /* replaced since */
	if (r < 0) {
		closep(&fd);
		walk->skipped += r != -ENOENT;
		return 0;
	}
	r = keep_rest(walk, level);
	if (r >= 0)
		r = push(walk, fd, stat->stx_ino);
	if (r < 0) {
		close(fd);
		return r;
	}
	if (walk->level_count > WALK_OPEN_MAX)
		close_for_now(&walk->levels[walk->level_count - 2]);
	return 0;
}

/* ---- entries ---- */

static int set_path(struct walk *walk, const struct level *level, const char *name)
{
	size_t length = strlen(name), at = level->path_length;
	size_t needed = at + length + 2;

	if (needed > walk->path_capacity) {
		char *grown = realloc(walk->path, 2 * needed);

		if (!grown)
			return -ENOMEM;
		walk->path = grown;
		walk->path_capacity = 2 * needed;
	}
	if (walk->path[at - 1] != '/')
		walk->path[at++] = '/';
	memcpy(walk->path + at, name, length + 1);
	walk->path_length = at + length;
	return 0;
}

static bool is_elsewhere(const struct walk *walk, const struct mount_entry *mount)
{
	return mount->device != walk->root_device || mount_is_pseudo(mount->type);
}

static bool passed_over(const struct walk *walk, const struct level *level)
{
	const struct mount_entry *mount = NULL;

	if (level->has_mounts)
		mount = mountinfo_at(&walk->mounts, walk->path, walk->path_length);
	return mount && is_elsewhere(walk, mount);
}

static int tell(struct walk *walk, const struct statx *stat)
{
	const struct walk_entry entry = { walk->path, walk->path_length, stat };

	return walk->config.handler(&entry, walk->config.userdata);
}

static int visit(struct walk *walk, const char *name)
{
	struct level *level = top(walk);
	struct statx stat;
	int r;

	if (name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2])))
		return 0;
	r = set_path(walk, level, name);
	if (r < 0 || passed_over(walk, level))
		return r;
	r = look(walk, level->fd, name, 0, &stat);
	if (r < 0) {
		walk->skipped += r != -ENOENT;
		return 0;
	}
	r = tell(walk, &stat);
	if (r < 0)
		return r;
	return S_ISDIR(stat.stx_mode) ? descend(walk, name, &stat) : 0;
}

/* Reads entries into the buffer; when there are none, the level is done. */
static void refill(struct walk *walk, struct level *level)
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

static int step(struct walk *walk)
{
	struct level *level = top(walk);
	const struct record *record;

	if (level->at == level->size) {
		refill(walk, level);
		return 0;
	}
	record = (const void *)((level->rest ?: walk->buffer) + level->at);
	level->at += record->length;
	return visit(walk, record->name);
}

/* ---- stages ---- */

static int begin_root(struct walk *walk)
{
	_cleanup_close_ int fd = GUARDED(walk->config.guard, open(walk->config.root, OPEN_FLAGS & ~O_NOFOLLOW));
	const struct mount_entry *mount;
	struct statx stat;
	char link[64];
	ssize_t length;
	int r;

	if (fd < 0)
		return -errno;
	r = look(walk, fd, "", AT_EMPTY_PATH, &stat);
	if (r < 0)
		return r;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, walk->path, PATH_MAX);
	if (length <= 0 || length >= PATH_MAX)
		return length < 0 ? -errno : -ENAMETOOLONG;
	walk->path[length] = '\0';
	walk->path_length = (size_t)length;
	mount = mountinfo_of(&walk->mounts, walk->path);
	if (mount && mount_is_pseudo(mount->type))
		return -EINVAL;
	walk->root_device = mount ? mount->device : stat.stx_dev_major << 20 | stat.stx_dev_minor;
	walk->major = stat.stx_dev_major;
	walk->minor = stat.stx_dev_minor;
	r = push(walk, fd, stat.stx_ino);
	if (r < 0)
		return r;
	take_fd(&fd);
	return tell(walk, &stat);
}

/* Notes a bind mount below the root, of the same device. */
static int find_bind(struct walk *walk)
{
	const struct mount_entry *mount = &walk->mounts.entries[walk->mount_at++].mount;
	size_t length = walk->path_length > 1 ? walk->path_length : 0;
	struct statx stat;
	struct bind *grown;

	if (strncmp(mount->path, walk->path, length) || mount->path[length] != '/' ||
	    !mount->path[length + 1] || is_elsewhere(walk, mount) ||
	    look(walk, AT_FDCWD, mount->path, 0, &stat) < 0)
		return 0;
	grown = reallocarray(walk->binds, walk->bind_count + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	walk->binds = grown;
	walk->binds[walk->bind_count++] = (struct bind){ .inode = stat.stx_ino };
	return 0;
}

static int run_stage(struct walk *walk)
{
	int r = 0;

	switch (walk->stage) {
	case STAGE_ROOT:
		r = begin_root(walk);
		walk->stage = walk->config.depth ? STAGE_BINDS : STAGE_END;
		break;
	case STAGE_BINDS:
		while (walk->mount_at < walk->mounts.count && !r)
			r = find_bind(walk);
		seen(walk, top(walk)->inode);
		walk->stage = STAGE_TREE;
		break;
	case STAGE_TREE:
		while (walk->level_count && !r)
			r = step(walk);
		walk->stage = r ? STAGE_TREE : STAGE_END;
		break;
	case STAGE_END:
		break;
	}
	return r;
}

int walk_run(struct walk *walk)
{
	int r = walk->error;

	while (walk->stage != STAGE_END && !r)
		r = run_stage(walk);
	return r;
}

/* Buffers that calls which hang may still write to: never freed. */
struct given_up {
	struct given_up *next;
	char *buffer;
};

static struct given_up *given_up;

/* The thread that hangs keeps the descriptor and the buffer that its call works on. */
static void give_up_folder(struct walk *walk)
{
	struct given_up *one = malloc(sizeof(*one));

	take_fd(&top(walk)->fd);
	drop(walk);
	if (one)
		*one = (struct given_up){ given_up, walk->buffer };
	given_up = one ?: given_up;
	walk->buffer = malloc(CHUNK_SIZE);
	if (!walk->buffer)
		walk->error = -ENOMEM;
}

const char *walk_pass(struct walk *walk)
{
	const char *path = walk->path;

	walk->skipped++;
	if (walk->stage == STAGE_ROOT)
		walk->error = -ETIMEDOUT;
	if (walk->stage == STAGE_BINDS)
		path = walk->mounts.entries[walk->mount_at - 1].mount.path;
	if (walk->doing == DOING_READ)
		give_up_folder(walk);
	while (walk->level_count && top(walk)->fd < 0)
		drop(walk);
	walk->doing = DOING_OTHER;
	return path;
}
