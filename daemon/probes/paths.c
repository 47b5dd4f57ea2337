// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/paths.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "cleanup.h"
#include "path_name.h"
#include "probes/mount_table.h"

#define ROOT		   1 /* node */
#define BTRFS_SUBVOLUME	   256 /* the inode that the root of each of them is */

struct identity {
	uint64_t inode;
	uint32_t device;
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

/* The device is that of the kernel's super block, which is not everywhere what stat says. */
static int identify(const char *path, struct identity *ret)
{
	struct statx st;
	int r;

	if (statx(AT_FDCWD, path, 0, STATX_INO | STATX_MNT_ID, &st) < 0)
		return -errno;
	ret->inode = st.stx_ino;
	ret->device = st.stx_dev_major << 20 | st.stx_dev_minor;
	r = st.stx_mask & STATX_MNT_ID ? mount_device(st.stx_mnt_id, &ret->device) : 0;
	return r == -ENOENT ? 0 : r;
}

/* ---- the tree ---- */

static uint32_t node_new(struct iotr_control *page)
{
	for (uint32_t i = ROOT; i < IOTR_PATH_NODES; i++)
		if (!page->path_nodes[i].device)
			return i;
	return 0;
}

static uint32_t child_find(const struct iotr_control *page, uint32_t parent, uint64_t name)
{
	for (uint32_t i = ROOT + 1; i < IOTR_PATH_NODES; i++)
		if (page->path_nodes[i].device && page->path_nodes[i].parent == parent &&
		    page->path_nodes[i].name == name)
			return i;
	return 0;
}

/* Whether the map leads to it, rather than to another node that is the same folder. */
static bool is_led_to(struct probes *probes, uint32_t number)
{
	const struct iotr_path_node *node = &probes_page(probes)->path_nodes[number];
	struct iotr_path_inode inode = { .inode = node->inode, .device = node->device };
	uint32_t leads;

	return !bpf_map_lookup_elem(probes_map(probes, "path_inodes"), &inode, &leads) && leads == number;
}

static void hints_update(struct probes *probes)
{
	struct iotr_control *page = probes_page(probes);
	uint16_t hints[IOTR_HINTS] = { 0 };

	for (uint32_t i = ROOT; i < IOTR_PATH_NODES; i++)
		if (page->path_nodes[i].device && is_led_to(probes, i))
			hints[page->path_nodes[i].inode % IOTR_HINTS] = (uint16_t)i;
	memcpy(page->path_hints, hints, sizeof(hints));
}

/* Sessions whose filter ends at the node, or at another one that is the same folder. */
static uint64_t own_sessions(const struct iotr_control *page, const struct iotr_path_node *node)
{
	uint64_t own = node->own;

	for (uint32_t i = ROOT; i < IOTR_PATH_NODES; i++)
		if (page->path_nodes[i].device == node->device && page->path_nodes[i].inode == node->inode)
			own |= page->path_nodes[i].own;
	return own;
}

static void sessions_update(struct iotr_control *page)
{
	for (uint32_t i = ROOT; i < IOTR_PATH_NODES; i++) {
		uint64_t sessions = 0;
		uint32_t at = i;

		if (!page->path_nodes[i].device)
			continue;
		for (int level = 0; level <= IOTR_PATH_LEVELS && at; level++) {
			sessions |= own_sessions(page, &page->path_nodes[at]);
			at = at == ROOT ? 0 : page->path_nodes[at].parent;
		}
		page->path_nodes[i].sessions = sessions;
	}
}

/* Leads from the maps to the node, which is complete. A folder of two names keeps its first node. */
static int node_publish(struct probes *probes, uint32_t number)
{
	const struct iotr_path_node *node = &probes_page(probes)->path_nodes[number];
	struct iotr_path_inode inode = { .inode = node->inode, .device = node->device };
	struct iotr_path_step step = { .name = node->name, .parent = node->parent };

	if (bpf_map_update_elem(probes_map(probes, "path_inodes"), &inode, &number, BPF_NOEXIST) < 0 &&
	    errno != EEXIST)
		return -errno;
	if (number != ROOT &&
	    bpf_map_update_elem(probes_map(probes, "path_steps"), &step, &number, BPF_ANY) < 0)
		return -errno;
	return 0;
}

static int node_add(struct probes *probes, uint32_t parent, uint64_t name, const char *path, uint32_t *ret)
{
	struct iotr_control *page = probes_page(probes);
	uint32_t number = node_new(page);
	struct identity identity;
	int r = identify(path, &identity);

	if (r < 0)
		return r;
	if (!number)
		return -ENOSPC;
	page->path_nodes[number] = (struct iotr_path_node){
		.sessions = page->path_nodes[parent].sessions,
		.inode = identity.inode,
		.name = name,
		.device = identity.device,
		.parent = parent ?: ROOT,
	};
	*ret = number;
	return node_publish(probes, number);
}

/* Another node that is the same folder and stays, or 0. */
static uint32_t twin_find(const struct iotr_control *page, uint32_t number, const bool *going)
{
	const struct iotr_path_node *node = &page->path_nodes[number];

	for (uint32_t i = ROOT; i < IOTR_PATH_NODES; i++)
		if (i != number && !going[i] && page->path_nodes[i].device == node->device &&
		    page->path_nodes[i].inode == node->inode)
			return i;
	return 0;
}

/* No map leads to the node any more; programs that have come to it may still read it. */
static void node_hide(struct probes *probes, uint32_t number, const bool *going)
{
	const struct iotr_control *page = probes_page(probes);
	const struct iotr_path_node *node = &page->path_nodes[number];
	struct iotr_path_inode inode = { .inode = node->inode, .device = node->device };
	struct iotr_path_step step = { .name = node->name, .parent = node->parent };
	uint32_t leads, twin = twin_find(page, number, going);
	int inodes = probes_map(probes, "path_inodes");

	bpf_map_delete_elem(probes_map(probes, "path_steps"), &step);
	if (bpf_map_lookup_elem(inodes, &inode, &leads) < 0 || leads != number)
		return;
	if (twin)
		bpf_map_update_elem(inodes, &inode, &twin, BPF_ANY);
	else
		bpf_map_delete_elem(inodes, &inode);
}

/* ---- a path ---- */

/* The node of a path that has no links in it, and perhaps some "." and "//". */
static int path_node(struct probes *probes, const char *path, uint32_t *ret)
{
	struct iotr_control *page = probes_page(probes);
	char copy[PATH_MAX];
	size_t end = 0, length;
	uint32_t at = ROOT, child;
	int r = 0;

	if (!page->path_nodes[ROOT].device)
		r = node_add(probes, 0, 0, "/", &at);
	for (size_t from = strspn(path, "/"); path[from] && r >= 0; from = end + strspn(path + end, "/")) {
		uint64_t name;

		length = strcspn(path + from, "/");
		end = from + length;
		name = paths_part(path + from, length);
		if (name == IOTR_PART_DOT)
			continue;
		memcpy(copy, path, end);
		copy[end] = '\0';
		child = child_find(page, at, name);
		if (!child)
			r = node_add(probes, at, name, copy, &child);
		at = child;
	}
	*ret = at;
	return r;
}

static int path_add(struct probes *probes, uint64_t bit, const char *path)
{
	uint32_t node;
	int r = path_node(probes, path, &node);

	if (r >= 0)
		probes_page(probes)->path_nodes[node].own |= bit;
	return r;
}

static bool has_dotdot(const char *path)
{
	for (const char *at = strstr(path, "/.."); at; at = strstr(at + 1, "/.."))
		if (at[3] == '/' || !at[3])
			return true;
	return false;
}

/* As it really is, and as it was given, when that has links in it: programs may use either. */
static int path_set(struct probes *probes, uint64_t bit, const char *path)
{
	_cleanup_free_ char *real = realpath(path, NULL);
	int r = real ? path_add(probes, bit, real) : -errno;

	return r < 0 || has_dotdot(path) ? r : path_add(probes, bit, path);
}

int paths_set(struct probes *probes, uint64_t bit, const struct iotr_session_spec *spec,
	      struct filter_error *error)
{
	struct iotr_control *page = probes_page(probes);

	for (size_t i = 0; i < spec->path_count; i++) {
		int r = path_set(probes, bit, spec->paths[i]);

		if (r == -ENOSPC || r == -E2BIG)
			return filter_fail(error, -E2BIG, "paths", "too many folders on the way to the paths of all sessions");
		if (r < 0)
			return filter_fail(error, -EINVAL, "paths", "'%.300s': %s", spec->paths[i], strerror(-r));
	}
	if (!spec->path_count)
		return 0;
	sessions_update(page);
	hints_update(probes);
	page->filtered[IOTR_FILTER_PATH] |= bit;
	return 0;
}

static bool has_child(const struct iotr_control *page, uint32_t number, const bool *going)
{
	for (uint32_t i = ROOT + 1; i < IOTR_PATH_NODES; i++)
		if (page->path_nodes[i].device && !going[i] && page->path_nodes[i].parent == number)
			return true;
	return false;
}

/* Marks what leads to nobody's filter, from the leaves upwards. */
static bool prune(const struct iotr_control *page, bool *going)
{
	bool any = false, more = true;

	while (more) {
		more = false;
		for (uint32_t i = IOTR_PATH_NODES - 1; i >= ROOT; i--)
			if (page->path_nodes[i].device && !going[i] && !page->path_nodes[i].own &&
			    !has_child(page, i, going))
				any = more = going[i] = true;
	}
	return any;
}

/* For others, who look through a node that goes, it makes no difference at any instant. */
static void nodes_remove(struct probes *probes, const bool *going)
{
	struct iotr_control *page = probes_page(probes);

	for (uint32_t i = ROOT; i < IOTR_PATH_NODES; i++)
		if (going[i])
			node_hide(probes, i, going);
	probes_quiesce(probes);
	for (uint32_t i = ROOT; i < IOTR_PATH_NODES; i++)
		if (going[i])
			memset(&page->path_nodes[i], 0, sizeof(page->path_nodes[i]));
}

void paths_clear(struct probes *probes, uint64_t bit)
{
	struct iotr_control *page = probes_page(probes);
	bool going[IOTR_PATH_NODES] = { false };

	for (uint32_t i = ROOT; i < IOTR_PATH_NODES; i++)
		page->path_nodes[i].own &= ~bit;
	if (prune(page, going))
		nodes_remove(probes, going);
	sessions_update(page);
	hints_update(probes);
}

/* ---- checks ---- */

static int path_check(const char *path, struct filter_error *error)
{
	struct identity identity;
	struct statfs fs;
	int r = identify(path, &identity);

	if (r < 0)
		return filter_fail(error, -EINVAL, "paths", "'%.300s': %s", path, strerror(-r));
	if (statfs(path, &fs) == 0 && fs.f_type == BTRFS_SUPER_MAGIC && identity.inode == BTRFS_SUBVOLUME)
		return filter_fail(error, -EINVAL, "paths", "'%.300s' is the root of a btrfs subvolume, "
				   "which cannot be told from others: name folders in it", path);
	return 0;
}

int paths_check(const struct iotr_session_spec *spec, struct filter_error *error)
{
	int r = 0;

	for (size_t i = 0; i < spec->path_count && r >= 0; i++)
		r = path_check(spec->paths[i], error);
	return r;
}
