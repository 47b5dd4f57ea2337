// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/paths.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "path_name.h"
#include "probes/probes_private.h"

#define BTRFS_SUBVOLUME 256 /* inode number of the root of every btrfs subvolume */

#define ROOT  1 /* index of the root in path_nodes */
#define SLOTS (2 * IOTR_PATH_NODES)

/* Nodes by folder: a hash table of lists, each of the nodes that are the same folder, by ascending index. */
struct same {
	uint16_t first[SLOTS];		/* index of the list's first node, by the folder's hash; 0: free */
	uint16_t next[IOTR_PATH_NODES]; /* index of the next node of the same folder; 0: none */
};

static bool is_same(const struct iotr_path_node *a, const struct iotr_path_node *b)
{
	return a->device == b->device && a->inode == b->inode;
}

/* The slot of the node's folder, which may be free. */
static uint16_t *same_slot(struct same *same, const struct iotr_control *page, const struct iotr_path_node *node)
{
	size_t at = iotr_mix(node->inode, node->device) % SLOTS;

	while (same->first[at] && !is_same(&page->path_nodes[same->first[at]], node))
		at = (at + 1) % SLOTS;
	return &same->first[at];
}

/* The table of all nodes except those in `going`, for the caller to free; NULL: out of memory. */
static struct same *same_new(const struct iotr_control *page, const bool *going)
{
	struct same *same = calloc(1, sizeof(*same));

	for (uint32_t i = IOTR_PATH_NODES - 1; same && i >= ROOT; i--) {
		uint16_t *slot;

		if (!page->path_nodes[i].device || (going && going[i]))
			continue;
		slot = same_slot(same, page, &page->path_nodes[i]);
		same->next[i] = *slot;
		*slot = (uint16_t)i;
	}
	return same;
}

/* ---- the tree ---- */

/* A free node from `*from` on, which is advanced; 0: there is none. */
static uint32_t node_new(const struct iotr_control *page, uint32_t *from)
{
	while (*from < IOTR_PATH_NODES && page->path_nodes[*from].device)
		++*from;
	return *from < IOTR_PATH_NODES ? (*from)++ : 0;
}

static uint32_t child_find(struct probes *probes, uint32_t parent, uint64_t name)
{
	struct iotr_path_step step = { .name = name, .parent = parent };
	uint32_t child;

	return bpf_map_lookup_elem(probes_map(probes, "path_steps"), &step, &child) < 0 ? 0 : child;
}

/* Whether path_inodes has this node for its folder, not another node of the same folder. */
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

/* Sessions whose filter names the node, or another node of the same folder. */
static uint64_t own_sessions(const struct iotr_control *page, struct same *same, const struct iotr_path_node *node)
{
	uint64_t own = 0;

	for (uint32_t i = *same_slot(same, page, node); i; i = same->next[i])
		own |= page->path_nodes[i].own;
	return own;
}

static int sessions_update(struct iotr_control *page)
{
	_cleanup_free_ struct same *same = same_new(page, NULL);
	_cleanup_free_ uint64_t *own = calloc(IOTR_PATH_NODES, sizeof(*own));

	if (!same || !own)
		return -ENOMEM;
	for (uint32_t i = ROOT; i < IOTR_PATH_NODES; i++)
		if (page->path_nodes[i].device)
			own[i] = own_sessions(page, same, &page->path_nodes[i]);
	for (uint32_t i = ROOT; i < IOTR_PATH_NODES; i++) {
		uint64_t sessions = 0;
		uint32_t at = i;

		if (!page->path_nodes[i].device)
			continue;
		for (int level = 0; level <= IOTR_PATH_LEVELS && at; level++) {
			sessions |= own[at];
			at = at == ROOT ? 0 : page->path_nodes[at].parent;
		}
		page->path_nodes[i].sessions = sessions;
	}
	return 0;
}

/*
 * Whether the folder is also found by the device of its super block, for programs that cannot tell subvolumes of btrfs apart. The
 * roots of subvolumes have one number, so that none of them is found so but that of all.
 */
static bool found_by_super(const struct iotr_path_node *node, uint32_t number)
{
	return node->super != node->device && (node->inode != BTRFS_SUBVOLUME || number == ROOT);
}

static int inode_publish(struct probes *probes, uint64_t inode, uint32_t device, uint32_t number)
{
	struct iotr_path_inode key = { .inode = inode, .device = device };
	int r = bpf_map_update_elem(probes_map(probes, "path_inodes"), &key, &number, BPF_NOEXIST);

	return r < 0 && errno != EEXIST ? -errno : 0;
}

/* Adds the node, which is filled in, to the maps. In path_inodes a folder with two nodes keeps the first one. */
static int node_publish(struct probes *probes, uint32_t number)
{
	const struct iotr_path_node *node = &probes_page(probes)->path_nodes[number];
	struct iotr_path_step step = { .name = node->name, .parent = node->parent };
	int r = inode_publish(probes, node->inode, node->device, number);

	if (r == 0 && found_by_super(node, number))
		r = inode_publish(probes, node->inode, node->super, number);
	if (r < 0)
		return r;
	if (number != ROOT &&
	    bpf_map_update_elem(probes_map(probes, "path_steps"), &step, &number, BPF_ANY) < 0)
		return -errno;
	return 0;
}

static int node_add(struct probes *probes, uint32_t number, uint32_t parent, const struct paths_folder *folder)
{
	struct iotr_control *page = probes_page(probes);

	page->path_nodes[number] = (struct iotr_path_node){
		.sessions = page->path_nodes[parent].sessions,
		.inode = folder->inode,
		.name = folder->name,
		.device = folder->volume,
		.super = folder->device,
		.parent = parent ?: ROOT,
	};
	return node_publish(probes, number);
}

/* `twin`: another node of the folder, which is found instead; 0: there is none. */
static void inode_hide(struct probes *probes, uint64_t inode, uint32_t device, uint32_t number, uint32_t twin)
{
	struct iotr_path_inode key = { .inode = inode, .device = device };
	int inodes = probes_map(probes, "path_inodes");
	uint32_t leads;

	if (bpf_map_lookup_elem(inodes, &key, &leads) < 0 || leads != number)
		return;
	if (twin)
		bpf_map_update_elem(inodes, &key, &twin, BPF_ANY);
	else
		bpf_map_delete_elem(inodes, &key);
}

/* Removes the node from the maps; programs that have found it already may still read it. */
static void node_hide(struct probes *probes, uint32_t number, struct same *staying)
{
	const struct iotr_control *page = probes_page(probes);
	const struct iotr_path_node *node = &page->path_nodes[number];
	struct iotr_path_step step = { .name = node->name, .parent = node->parent };
	uint32_t twin = *same_slot(staying, page, node);

	bpf_map_delete_elem(probes_map(probes, "path_steps"), &step);
	inode_hide(probes, node->inode, node->device, number, twin);
	if (found_by_super(node, number))
		inode_hide(probes, node->inode, node->super, number, twin);
}

/* ---- setting the paths of a session ---- */

/* Sets `nodes` to the node of each folder found, which is added to the page if it has none. */
static int nodes_take(struct probes *probes, const struct paths_found *found, uint32_t *nodes)
{
	struct iotr_control *page = probes_page(probes);
	uint32_t from = ROOT + 1;
	int r = 0;

	for (size_t i = 0; i < found->count && r >= 0; i++) {
		const struct paths_folder *folder = &found->folders[i];
		uint32_t parent = i ? nodes[folder->parent] : 0;

		nodes[i] = i ? child_find(probes, parent, folder->name) : ROOT;
		if (nodes[i] && page->path_nodes[nodes[i]].device)
			continue;
		nodes[i] = i ? node_new(page, &from) : ROOT;
		r = nodes[i] ? node_add(probes, nodes[i], parent, folder) : -ENOSPC;
	}
	return r;
}

static int nodes_own(struct iotr_control *page, uint64_t bit, const struct paths_found *found, const uint32_t *nodes)
{
	for (size_t i = 0; i < found->count; i++)
		if (found->folders[i].named)
			page->path_nodes[nodes[i]].own |= bit;
	return sessions_update(page);
}

/* Whether programs tell subvolumes of btrfs apart, or may yet: what tells them is found at the beginning. */
static bool subvolumes_seen(struct probes *probes)
{
	return !probes->bio_ends_found || probes_page(probes)->btrfs.anon_dev;
}

/* Programs that do not see subvolumes would take the root of one for that of another. */
static bool has_subvolume(const struct paths_found *found)
{
	for (size_t i = 0; i < found->count; i++)
		if (found->folders[i].named && found->folders[i].volume != found->folders[i].device &&
		    found->folders[i].inode == BTRFS_SUBVOLUME)
			return true;
	return false;
}

int paths_set(struct probes *probes, uint64_t bit, const struct paths_found *found,
	      struct filter_error *error)
{
	_cleanup_free_ uint32_t *nodes = NULL;
	int r;

	if (!found || !found->count)
		return 0;
	if (!subvolumes_seen(probes) && has_subvolume(found))
		return filter_fail(error, -EINVAL, "paths", "a path is the root of a btrfs subvolume, which this kernel does not let "
				   "tell from others, as it has no types of btrfs: name folders in it");
	nodes = calloc(found->count, sizeof(*nodes));
	r = nodes ? nodes_take(probes, found, nodes) : -ENOMEM;
	if (r >= 0)
		r = nodes_own(probes_page(probes), bit, found, nodes);
	if (r == -ENOSPC || r == -E2BIG)
		return filter_fail(error, -E2BIG, "paths", "too many folders on the way to the paths of all sessions");
	if (r < 0)
		return filter_fail(error, r, "paths", "they cannot be set: %s", strerror(-r));
	hints_update(probes);
	probes_page(probes)->filtered[IOTR_FILTER_PATH] |= bit;
	return 0;
}

/* ---- removing the paths of a session ---- */

/* Marks in `going` the nodes at and below which no filter ends, from the leaves upwards; false: there are none. */
static bool prune(const struct iotr_control *page, bool *going)
{
	uint16_t children[IOTR_PATH_NODES] = { 0 };
	bool any = false;

	for (uint32_t i = ROOT + 1; i < IOTR_PATH_NODES; i++)
		if (page->path_nodes[i].device)
			children[page->path_nodes[i].parent]++;
	for (uint32_t i = ROOT; i < IOTR_PATH_NODES; i++) {
		uint32_t at = i;

		while (page->path_nodes[at].device && !going[at] && !page->path_nodes[at].own && !children[at]) {
			any = going[at] = true;
			if (at == ROOT)
				break;
			at = page->path_nodes[at].parent;
			children[at]--;
		}
	}
	return any;
}

/* Removes the nodes in `going`; at no moment does this change what other nodes' filters accept. */
static void nodes_remove(struct probes *probes, const bool *going)
{
	struct iotr_control *page = probes_page(probes);
	_cleanup_free_ struct same *staying = same_new(page, going);

	if (!staying) /* out of memory: they stay until the next call */
		return;
	for (uint32_t i = ROOT; i < IOTR_PATH_NODES; i++)
		if (going[i])
			node_hide(probes, i, staying);
	probes_quiesce(probes);
	for (uint32_t i = ROOT; i < IOTR_PATH_NODES; i++)
		if (going[i])
			memset(&page->path_nodes[i], 0, sizeof(page->path_nodes[i]));
}

void paths_clear(struct probes *probes, uint64_t bit)
{
	struct iotr_control *page = probes_page(probes);
	bool going[IOTR_PATH_NODES] = { false };

	if (!(page->filtered[IOTR_FILTER_PATH] & bit) && !page->path_nodes[ROOT].device)
		return;
	for (uint32_t i = ROOT; i < IOTR_PATH_NODES; i++) {
		page->path_nodes[i].own &= ~bit;
		page->path_nodes[i].sessions &= ~bit;
	}
	if (prune(page, going))
		nodes_remove(probes, going);
	sessions_update(page);
	hints_update(probes);
}
