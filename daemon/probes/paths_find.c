// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/paths_find.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "cleanup.h"
#include "control.h"
#include "path_name.h"
#include "probes/mount_table.h"
#include "probes/paths_aliases.h"
#include "tree.h"

#define FOLDERS_MAX	(IOTR_PATH_NODES - 1) /* node 0 of the control page is no node */
#define SLOTS		(2 * IOTR_PATH_NODES)

struct search {
	struct paths_found *found;
	uint16_t slots[SLOTS]; /* hash table by parent and name: index in folders plus 1; 0: free */
	uint64_t mount;	       /* id of the mount looked up last, as most folders are on one; 0: none */
	uint32_t mount_device;
	uint32_t device; /* of what the path names whose other names are looked for */
};

struct identity {
	uint64_t inode;
	uint32_t device, volume; /* as in struct paths_folder */
};

uint64_t paths_part(const char *name, size_t length)
{
	uint64_t hash = 0, word;
	size_t done = 0;

	for (; length - done >= sizeof(word); done += sizeof(word)) {
		memcpy(&word, name + done, sizeof(word));
		hash = iotr_mix(hash, word);
	}
	word = 0;
	memcpy(&word, name + done, length - done);
	return iotr_mix(hash, word) << IOTR_PART_SHIFT | length;
}

static int device_of_mount(struct search *search, uint64_t mount, uint32_t *device)
{
	int r;

	if (mount && mount == search->mount) {
		*device = search->mount_device;
		return 0;
	}
	r = mount_device(mount, device);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	search->mount = mount;
	search->mount_device = *device;
	return 0;
}

/*
 * Reads what a path leads to. The device of the super block is that of the mount, which on some file systems differs from stat's; of
 * these, btrfs alone has numbers by which its subvolumes are known.
 */
static int identify(struct search *search, const char *path, struct identity *ret)
{
	_cleanup_close_ int fd = tree_open(path, O_PATH);
	struct statfs fs;
	struct statx st;
	uint32_t volume;
	int r = 0;

	if (fd < 0 || statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, &st) < 0)
		return -errno;
	ret->inode = st.stx_ino;
	ret->device = volume = st.stx_dev_major << 20 | st.stx_dev_minor;
	if (st.stx_mask & STATX_MNT_ID)
		r = device_of_mount(search, st.stx_mnt_id, &ret->device);
	ret->volume = ret->device;
	if (volume != ret->device && fstatfs(fd, &fs) == 0 && fs.f_type == BTRFS_SUPER_MAGIC)
		ret->volume = volume;
	return r;
}

/* The hash slot of the folder with that parent and name, or the free slot for it. */
static uint16_t *slot_of(struct search *search, uint32_t parent, uint64_t name)
{
	const struct paths_folder *folders = search->found->folders;
	size_t at = iotr_mix(name, parent) % SLOTS;

	for (;; at = (at + 1) % SLOTS) {
		uint16_t *slot = &search->slots[at];

		if (!*slot || (folders[*slot - 1].parent == parent && folders[*slot - 1].name == name))
			return slot;
	}
}

static int folder_add(struct search *search, uint32_t parent, uint64_t name, const char *path, uint32_t *ret)
{
	struct paths_found *found = search->found;
	struct identity identity;
	int r = identify(search, path, &identity);

	if (r < 0)
		return r;
	if (found->count == FOLDERS_MAX)
		return -E2BIG;
	*ret = (uint32_t)found->count++;
	found->folders[*ret] = (struct paths_folder){
		.name = name,
		.inode = identity.inode,
		.device = identity.device,
		.volume = identity.volume,
		.parent = parent,
	};
	return 0;
}

static int folder_find(struct search *search, uint32_t parent, uint64_t name, const char *path, uint32_t *ret)
{
	uint16_t *slot = slot_of(search, parent, name);
	int r = 0;

	if (*slot) {
		*ret = *slot - 1U;
		return 0;
	}
	r = folder_add(search, parent, name, path, ret);
	if (r >= 0)
		*slot = (uint16_t)(*ret + 1);
	return r;
}

/* Adds the folders of a path, which may have "." and "//" but no "..". */
static int path_add(struct search *search, const char *path)
{
	char copy[PATH_MAX];
	size_t end = 0, length;
	uint32_t at = 0;
	int r = 0;

	if (!search->found->count)
		r = folder_add(search, 0, 0, "/", &at);
	for (size_t from = strspn(path, "/"); path[from] && r >= 0; from = end + strspn(path + end, "/")) {
		uint64_t name;

		length = strcspn(path + from, "/");
		end = from + length;
		name = paths_part(path + from, length);
		if (name == IOTR_PART_DOT)
			continue;
		memcpy(copy, path, end);
		copy[end] = '\0';
		r = folder_find(search, at, name, copy, &at);
	}
	if (r >= 0)
		search->found->folders[at].named = true;
	return r;
}

static bool has_dotdot(const char *path)
{
	for (const char *at = strstr(path, "/.."); at; at = strstr(at + 1, "/.."))
		if (at[3] == '/' || !at[3])
			return true;
	return false;
}

/* Adds one more path to the same, or to a part of it, unless something else is mounted there. */
static int alias_found(const char *path, void *userdata)
{
	struct search *search = userdata;
	struct identity identity;
	int r = identify(search, path, &identity);

	if (r >= 0 && identity.device == search->device)
		r = path_add(search, path);
	return r == -E2BIG ? r : 0;
}

/*
 * Adds a path with its links resolved, as it was given, and with what else leads there, as programs may use any. Where there
 * is no room for all of these the session does without.
 */
static int path_find(struct search *search, const char *path)
{
	_cleanup_free_ char *real = tree_real_path(path);
	struct identity identity;
	int r = real ? path_add(search, real) : -errno;

	if (r >= 0 && !has_dotdot(path))
		r = path_add(search, path);
	if (r < 0)
		return r;
	if (identify(search, real, &identity) >= 0) {
		search->device = identity.device;
		paths_aliases(real, alias_found, search);
	}
	return 0;
}

static int path_check(struct search *search, const char *path, struct filter_error *error)
{
	struct identity identity;
	int r = identify(search, path, &identity);

	return r < 0 ? filter_fail(error, -EINVAL, "paths", "'%.300s': %s", path, strerror(-r)) : 0;
}

static int paths_look(struct search *search, const struct iotr_session_spec *spec, struct filter_error *error)
{
	for (size_t i = 0; i < spec->path_count; i++) {
		int r = path_check(search, spec->paths[i], error);

		if (r < 0)
			return r;
		r = path_find(search, spec->paths[i]);
		if (r == -E2BIG)
			return filter_fail(error, r, "paths",
					   "too many folders on the way to the paths of all sessions");
		if (r < 0)
			return filter_fail(error, -EINVAL, "paths", "'%.300s': %s", spec->paths[i], strerror(-r));
	}
	return 0;
}

int paths_find(const struct iotr_session_spec *spec, struct paths_found **ret, struct filter_error *error)
{
	_cleanup_free_ struct search *search = calloc(1, sizeof(*search));
	struct paths_found *found = calloc(1, sizeof(*found));
	int r = -ENOMEM;

	if (found)
		found->folders = calloc(FOLDERS_MAX, sizeof(*found->folders));
	if (!search || !found || !found->folders) {
		filter_fail(error, r, "", "out of memory");
	} else {
		search->found = found;
		r = paths_look(search, spec, error);
	}
	if (r < 0) {
		paths_found_free(found);
		return r;
	}
	*ret = found;
	return 0;
}

void paths_found_free(struct paths_found *found)
{
	if (found)
		free(found->folders);
	free(found);
}
