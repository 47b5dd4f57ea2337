/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which descriptors were ready when a wait ended. Of poll and select the call says so itself. epoll_wait returns what the program
 * has stored with each descriptor, which may be anything. The kernel's item of the descriptor (struct epitem) has both, so it is
 * looked for by what was stored: first among the items that are remembered from EPOLL_CTL, then by the number that was stored, if
 * that is of a descriptor, and at last, ten times a second for each epoll instance, by looking at some of its items one after the other.
 * An item is only believed if it is in the tree of this instance and has just what was returned.
 */
#pragma once

#include "epoll_slot.bpf.h"

#define ITEMS_MAX     16384 /* maximum of items that are remembered; LRU */
#define TREE_DEPTH    32
#define WALK_CHUNK    64 /* steps of a walk along the items, of which two or three lead to the next one */
#define WALK_CHUNKS   8
#define WALK_PAUSE_NS 100000000ULL
#define WALK_UP	      1ULL /* in the address of a node: what is below it was seen */
#define SETS_WORDS    16 /* of 64 descriptors, of select */
#define POLL_MAX      1024 /* maximum of descriptors of poll that are looked at */
#define POLL_CHUNK    64

#define ITEM_SEVERAL 1 /* instead of an item: what was stored stands for several descriptors */
#define ITEM_SMALL   4096 /* what is stored below that may stand for several, as it is no address */

/* By instance and what is stored: the address of an item, or ITEM_SEVERAL; by instance alone: when its items were walked along. */
HASH_OF(epoll_items, LRU_HASH, __u64, __u64, ITEMS_MAX);

struct ready_event {
	__u32 events;
	__u64 data;
} __attribute__((packed));

static __always_inline __u64 item_key(__u64 epoll, __u64 data)
{
	return iotr_mix(epoll, data);
}

/* The kernel's struct eventpoll of a descriptor; 0: it is of none. */
static __always_inline __u64 epoll_of_fd(__u32 fd)
{
	__u64 file = file_of_fd(current_task(), fd);

	return file ? ADDRESS(struct file, file, private_data) : 0;
}

static __always_inline __u64 item_data(__u64 item)
{
	return READ(struct epitem, item, event.data);
}

/* Whether an address is that of an item of the instance, in its tree, with this stored. What was there may have been freed. */
static __always_inline bool item_is(__u64 item, __u64 epoll, __u64 data)
{
	__u64 parent;

	if (ADDRESS(struct epitem, item, ep) != epoll || item_data(item) != data)
		return false;
	parent = READ(struct rb_node, item, __rb_parent_color) & ~3ULL;
	if (!parent)
		return ADDRESS(struct eventpoll, epoll, rbr.rb_root.rb_node) == item;
	return ADDRESS(struct rb_node, parent, rb_left) == item || ADDRESS(struct rb_node, parent, rb_right) == item;
}

/* The item of a descriptor, 0: there is none. A global function. */
__noinline __u64 item_of_fd(__u64 epoll, __s32 fd)
{
	__u64 file = file_of_fd(current_task(), fd), item, of;
	__s32 number;

	if (!file)
		return 0;
	item = ADDRESS(struct eventpoll, epoll, rbr.rb_root.rb_node);
	for (int i = 0; i < TREE_DEPTH && item; i++) {
		of = ADDRESS(struct epitem, item, ffd.file);
		number = READ(struct epitem, item, ffd.fd);
		if (of == file && number == fd)
			return item;
		item = file > of || (file == of && fd > number) ? ADDRESS(struct rb_node, item, rb_right) :
								   ADDRESS(struct rb_node, item, rb_left);
	}
	return 0;
}

/* Remembers an item. Data that two items share does not identify which of them is ready. A global function. */
__noinline int item_keep(__u64 epoll, __u64 item)
{
	__u64 data = item_data(item), key = item_key(epoll, data), *known = bpf_map_lookup_elem(&epoll_items, &key);

	if (known && *known != item && *known > ITEM_SEVERAL && item_is(*known, epoll, data))
		item = ITEM_SEVERAL;
	if (!known || *known != item)
		bpf_map_update_elem(&epoll_items, &key, &item, BPF_ANY);
	return 0;
}

/* ---- the walk ---- */

/* A step from node to node in their order, remembering the items; 0: all were seen. */
static __always_inline __u64 walk_step(__u64 epoll, __u64 at)
{
	__u64 node = at & ~WALK_UP, next = 0, parent;

	if (!(at & WALK_UP)) {
		next = ADDRESS(struct rb_node, node, rb_left);
		if (next)
			return next;
		item_keep(epoll, node);
		next = ADDRESS(struct rb_node, node, rb_right);
		return next ?: node | WALK_UP;
	}
	parent = READ(struct rb_node, node, __rb_parent_color) & ~3ULL;
	if (!parent)
		return 0;
	if (ADDRESS(struct rb_node, parent, rb_right) == node)
		return parent | WALK_UP;
	item_keep(epoll, parent);
	next = ADDRESS(struct rb_node, parent, rb_right);
	return next ?: parent | WALK_UP;
}

/* Some steps of a walk. Returns where it is, 0: it has come to the end. A global function. */
__noinline __u64 walk_chunk(__u64 epoll, __u64 at)
{
	for (int i = 0; i < WALK_CHUNK && at; i++)
		at = walk_step(epoll, at);
	return at;
}

/* Remembers items of an instance, unless that was done a moment ago in a session. A global function. Returns whether all were seen. */
__noinline int items_walk(__u64 epoll)
{
	__u64 key = item_key(epoll, ~epoll), now = bpf_ktime_get_ns(), at;
	const __u64 *last = bpf_map_lookup_elem(&epoll_items, &key);
	struct iotr_control *page = control_page();

	if (!page || (last && *last > page->begun_last_ns && now - *last < WALK_PAUSE_NS))
		return 0;
	bpf_map_update_elem(&epoll_items, &key, &now, BPF_ANY);
	at = ADDRESS(struct eventpoll, epoll, rbr.rb_root.rb_node);
	for (int i = 0; i < WALK_CHUNKS && at; i++)
		at = walk_chunk(epoll, at);
	return !at;
}

/* ---- what was ready ---- */

static __always_inline __u64 item_known(__u64 epoll, __u64 data)
{
	__u64 key = item_key(epoll, data), *known = bpf_map_lookup_elem(&epoll_items, &key);

	if (!known)
		return 0;
	return *known == ITEM_SEVERAL || item_is(*known, epoll, data) ? *known : 0;
}

/* The item that an event is of; ITEM_SEVERAL, 0: it is not known. */
static __always_inline __u64 item_of_event(__u64 epoll, __u64 data)
{
	__u64 item = item_known(epoll, data);

	if (item)
		return item;
	item = item_of_fd(epoll, data);
	if (item && item_is(item, epoll, data)) {
		item_keep(epoll, item);
		return item;
	}
	items_walk(epoll);
	return item_known(epoll, data);
}

/* Notes the descriptor of an event that epoll_wait returned. A global function. */
__noinline int ready_event(__u64 thread, __u64 epoll, __u32 index)
{
	struct slot *slot = slot_find(thread);
	struct ready_event event;
	__u64 item;

	if (!slot || bpf_probe_read_user(&event, sizeof(event), (void *)(slot->args[1] + index * sizeof(event))))
		return 0;
	item = item_of_event(epoll, event.data);
	if (item > ITEM_SEVERAL)
		ready_add(slot, READ(struct epitem, item, ffd.fd));
	return 0;
}

static __always_inline void ready_of_wait(const struct slot *slot, long result)
{
	__u64 epoll = epoll_of_fd(slot->args[0]);

	for (__u32 i = 0; i < IOTR_READY_MAX && epoll && i < result; i++)
		ready_event(slot->thread, epoll, i);
}

/* Notes the ready ones among some of poll's descriptors. A global function. Returns how many are noted. */
__noinline int ready_polled(__u64 thread, __u32 first)
{
	struct slot *slot = slot_find(thread);
	struct {
		__s32 fd;
		__s16 events;
		__s16 ready;
	} one;

	if (!slot)
		return IOTR_READY_MAX;
	for (__u32 i = 0; i < POLL_CHUNK && first + i < (__u32)slot->args[1]; i++) {
		if (bpf_probe_read_user(&one, sizeof(one), (void *)(slot->args[0] + (first + i) * sizeof(one))))
			return IOTR_READY_MAX;
		if (one.ready)
			ready_add(slot, one.fd);
	}
	return ready_count(slot);
}

static __always_inline void ready_of_poll(const struct slot *slot, long result)
{
	__u32 count = slot->args[1];

	for (__u32 first = 0; first < POLL_MAX && first < count; first += POLL_CHUNK)
		if (ready_polled(slot->thread, first) >= (result < IOTR_READY_MAX ? result : IOTR_READY_MAX))
			break;
}

/* The number of the lowest bit of a word that is not 0. */
static __always_inline __u32 lowest(__u64 word)
{
	__u32 bit = 0;

	word &= -word;
	if (word & 0xffffffff00000000)
		bit += 32;
	if (word & 0xffff0000ffff0000)
		bit += 16;
	if (word & 0xff00ff00ff00ff00)
		bit += 8;
	if (word & 0xf0f0f0f0f0f0f0f0)
		bit += 4;
	if (word & 0xcccccccccccccccc)
		bit += 2;
	if (word & 0xaaaaaaaaaaaaaaaa)
		bit += 1;
	return bit;
}

/* A word of the sets of select: of 32 bits in the 32-bit ABI, so that no byte behind a set is read. */
static __always_inline __u64 sets_word(const struct slot *slot, __u32 index)
{
	__u32 size = slot->abi == IOTR_ABI_COMPAT ? sizeof(__u32) : sizeof(__u64);
	__u64 all = 0, word;

	for (int i = 1; i <= 3; i++) {
		word = 0;
		if (slot->args[i] && !bpf_probe_read_user(&word, size, (void *)(slot->args[i] + index * size)))
			all |= word;
	}
	return all;
}

/* Notes the descriptors of a word of the sets. A global function. */
__noinline int ready_selected(__u64 thread, __u32 index)
{
	struct slot *slot = slot_find(thread);
	__u64 word;

	if (!slot)
		return 0;
	word = sets_word(slot, index);
	for (int i = 0; i < IOTR_READY_MAX && word; i++, word &= word - 1)
		ready_add(slot, index * (slot->abi == IOTR_ABI_COMPAT ? 32 : 64) + lowest(word));
	return 0;
}

static __always_inline void ready_of_select(const struct slot *slot)
{
	__u32 bits = slot->abi == IOTR_ABI_COMPAT ? 32 : 64, count = (__u32)slot->args[0];

	for (__u32 i = 0; i < SETS_WORDS && i * bits < count; i++)
		ready_selected(slot->thread, i);
}
