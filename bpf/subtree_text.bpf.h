/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The filter by path for calls that name a file by text: the text is followed component by component
 * through the tree of struct iotr_path_node. Symbolic links in it are not resolved, but for those of /proc.
 */
#pragma once

#include "path_name.h"
#include "paths.bpf.h"
#include "subtree.bpf.h"

#define STAND_UNREAD (~0ULL) /* instead of a stand: the text cannot be read */
#define PART_WORDS 32 /* words of 8 bytes in a component, which has at most 255 bytes */
#define ONES	   0x0101010101010101ULL
#define SLASHES	   0x2f2f2f2f2f2f2f2fULL

/* Sets bit 7 of the lowest byte that is zero, and maybe of some above it; 0: no byte is zero. */
static __always_inline __u64 zero_bytes(__u64 word)
{
	return (word - ONES) & ~word & ONES << 7;
}

/* The first component of a text in user memory, as a number: see path_name.h. A global function. */
__noinline __u64 path_part(__u64 user)
{
	__u64 hash = 0;

	for (__u32 i = 0; i < PART_WORDS; i++) {
		__u64 word[2] = {}, ends, below;

		if (bpf_probe_read_user_str(word, sizeof(word[0]) + 1, (void *)(user + i * sizeof(word[0]))) < 0)
			return IOTR_PART_UNREAD;
		ends = zero_bytes(word[0]) | zero_bytes(word[0] ^ SLASHES);
		if (!ends) {
			hash = iotr_mix(hash, word[0]);
			continue;
		}
		ends &= -ends;
		below = (ends >> 7) - 1; /* bits of the bytes before the end */
		hash = iotr_mix(hash, word[0] & below) << IOTR_PART_SHIFT;
		if (!(zero_bytes(word[0] ^ SLASHES) & ends))
			hash |= IOTR_PART_LAST;
		return hash | (i * sizeof(word[0]) + ((below & ONES) * ONES >> 56));
	}
	return IOTR_PART_NONE;
}

/* The stand after one more component of a path. A global function. */
__noinline __u64 path_step(__u64 stand, __u64 part)
{
	struct iotr_path_step key = { .name = iotr_part_name(part), .parent = STAND_NODE(stand) };
	struct iotr_control *page = control_page();
	__u32 *child;

	if (!page || !(part & IOTR_PART_LENGTH) || key.name == IOTR_PART_DOT)
		return stand;
	if (key.name == IOTR_PART_DOTDOT)
		return STAND_DEPTH(stand) ? stand - STAND(0, 1) :
					    page->path_nodes[STAND_NODE(stand)].parent;
	child = STAND_DEPTH(stand) ? NULL : bpf_map_lookup_elem(&path_steps, &key);
	return child ? *child : stand + STAND(0, 1);
}

/* The stand of a path argument; `user` 0: of the descriptor. A global function. */
__noinline __u64 path_walk(__s32 directory, __u64 user, __u32 follow)
{
	__u64 stand, part;
	struct way way;

	way_of(&way, directory, user, follow);
	user = way.rest;
	stand = way.place.dentry ? subtree_find(way.place) : 0;
	for (int i = 0; i < IOTR_PATH_LEVELS && user; i++) {
		part = path_part(user);
		if (part == IOTR_PART_NONE)
			return 0;
		if (part == IOTR_PART_UNREAD)
			return STAND_UNREAD;
		stand = path_step(stand, part);
		if (part & IOTR_PART_LAST)
			return stand;
		user += (part & IOTR_PART_LENGTH) + 1;
	}
	return user ? 0 : stand;
}

/* Sessions whose path filter accepts a path argument; if it cannot be read none, and `unread` is set. */
static __always_inline __u64 path_sessions(struct iotr_control *page, __s32 directory, __u64 user, bool follow, bool *unread)
{
	__u64 stand = path_walk(directory, user, follow);

	if (stand != STAND_UNREAD)
		return subtree_sessions(page, stand);
	*unread = true;
	return 0;
}
