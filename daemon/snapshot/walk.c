// SPDX-License-Identifier: GPL-2.0-or-later
/* What a walk passes to its handler, and which folders it enters or leaves out. */
#include "walk_private.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "tree.h"

/* A folder that a bind mount shows again. */
struct walk_bind {
	uint64_t inode;
	bool done;
};

int walk_new(const struct walk_config *config, struct walk **ret)
{
	struct walk *walk = calloc(1, sizeof(*walk));
	int r = -ENOMEM;

	if (walk) {
		walk->config = *config;
		walk->path_capacity = 2 * PATH_MAX;
		walk->path = malloc(walk->path_capacity);
		walk->buffer = malloc(WALK_CHUNK_SIZE);
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
	struct walk_level *level = walk_top(walk);
	struct statx now;
	int fd, r;

	if (walk->level_count >= walk->config.depth || stat->stx_dev_major != walk->major ||
	    stat->stx_dev_minor != walk->minor || seen(walk, stat->stx_ino))
		return 0;
	fd = walk_open(walk, level->fd, name);
	r = fd < 0 ? fd : walk_look(walk, fd, "", AT_EMPTY_PATH, &now);
	if (r >= 0 && (now.stx_ino != stat->stx_ino || now.stx_dev_major != walk->major ||
		       now.stx_dev_minor != walk->minor))
		r = -ENOENT; /* replaced since */
	if (r < 0) {
		closep(&fd);
		walk->skipped += r != -ENOENT;
		return 0;
	}
	r = walk_enter(walk, fd, stat->stx_ino);
	if (r < 0)
		close(fd);
	return r;
}

/* ---- entries ---- */

static int set_path(struct walk *walk, const struct walk_level *level, const char *name)
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

static bool passed_over(const struct walk *walk, const struct walk_level *level)
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
	struct walk_level *level = walk_top(walk);
	struct statx stat;
	int r;

	if (name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2])))
		return 0;
	r = set_path(walk, level, name);
	if (r < 0 || passed_over(walk, level))
		return r;
	r = walk_look(walk, level->fd, name, 0, &stat);
	if (r < 0) {
		walk->skipped += r != -ENOENT;
		return 0;
	}
	r = tell(walk, &stat);
	if (r < 0)
		return r;
	return S_ISDIR(stat.stx_mode) ? descend(walk, name, &stat) : 0;
}

static int step(struct walk *walk)
{
	const char *name = walk_next(walk);

	return name ? visit(walk, name) : 0;
}

/* ---- stages ---- */

static int begin_root(struct walk *walk)
{
	_cleanup_close_ int fd = GUARDED(walk->config.guard, tree_open(walk->config.root, WALK_OPEN_FLAGS & ~O_NOFOLLOW));
	const struct mount_entry *mount;
	struct statx stat;
	char link[64];
	ssize_t length;
	int r;

	if (fd < 0)
		return -errno;
	r = walk_look(walk, fd, "", AT_EMPTY_PATH, &stat);
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
	r = walk_enter(walk, fd, stat.stx_ino);
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
	struct walk_bind *grown;

	if (strncmp(mount->path, walk->path, length) || mount->path[length] != '/' ||
	    !mount->path[length + 1] || is_elsewhere(walk, mount) ||
	    walk_look(walk, AT_FDCWD, mount->path, 0, &stat) < 0)
		return 0;
	grown = reallocarray(walk->binds, walk->bind_count + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	walk->binds = grown;
	walk->binds[walk->bind_count++] = (struct walk_bind){ .inode = stat.stx_ino };
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
		seen(walk, walk_top(walk)->inode);
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

const char *walk_pass(struct walk *walk)
{
	const char *path = walk->path;

	walk->skipped++;
	if (walk->stage == STAGE_ROOT)
		walk->error = -ETIMEDOUT;
	if (walk->stage == STAGE_BINDS)
		path = walk->mounts.entries[walk->mount_at - 1].mount.path;
	if (walk->reading)
		walk_give_up(walk);
	while (walk->level_count && walk_top(walk)->fd < 0)
		walk_drop(walk);
	walk->reading = false;
	return path;
}
