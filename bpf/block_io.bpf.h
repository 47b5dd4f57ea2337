/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A block request, or a bio of a device without requests: what is kept of it while it is in flight, filters, and its row. */
#pragma once

#include "backing.bpf.h"
#include "blockdev.bpf.h"
#include "flight.bpf.h"
#include "kept.bpf.h"
#include "subtree.bpf.h"

/* What caused a request. */
struct cause {
	struct actor actor;
	__u64 flow; /* of the call in which its bio was queued, or which asked for it; 0: none is known */
	__u8 attribution; /* enum iotr_attribution */
	__u8 flushes;	  /* of one that flushes: how many of these are still to come */
	__u8 pad[6];
};

struct block_io {
	struct flight flight; /* of an entry of `requests` */
	union {
		struct cause cause;
		struct { /* its members */
			struct actor actor;
			__u64 flow;
			__u8 attribution;
			__u8 flushes;
			__u8 pad[6];
		};
	};
	__u64 sessions; /* session mask; of a bio with a request: those whose sample has it, 0: no draw was made */
	__u64 queued_ns; /* when the bio was queued; 0: not seen */
	__u64 insert_ns; /* when the request was inserted; 0: issued without insertion */
	__u64 issue_ns;
	__u64 sector;
	struct bio_file file;
	__u64 name; /* of the open file, 0: none */
	__u32 size;
	__u32 device;
	__u32 disk;
	__u32 flags;
	__u32 operation;
	__u8 by_bio : 1; /* this is a bio of a device without requests */
	__u8 stacked : 1; /* a request that carries such a bio itself, not a clone */
	__u8 alone : 1; /* one process made all of its pages dirty */
	__u8 used : 1; /* of an entry of `requests` or `bios`: it is in flight */
	__u8 dirtiers; /* processes that made its pages dirty; 0: not known */
};

#define STACKED_MAX  64 /* maximum of bios of one request that are looked at */
#define SECTOR_SHIFT 9
#define REQUEST_ID_SHIFT (64 - 53) /* a double has every number below 2^53 */

ARRAY_OF(requests, struct block_io, FLIGHTS, 0); /* by the address of the request */
FLIGHT_ELSEWHERE(requests_elsewhere, requests)
HASH_OF(bio_rows, HASH, __u64, struct block_io, IOTR_STACKED); /* bios of devices without requests */
HASH_OF(bios, LRU_HASH, __u64, struct block_io, IOTR_BIOS); /* LRU, as no hook removes merged ones */
KEPT(bios_kept); /* at least as many as there are, as what the kernel evicts is not subtracted */
ARRAY_OF(blank_io, struct block_io, 1, 0);
HASH_OF(flushers, LRU_HASH, __u32, struct cause, 256); /* by disk: who asked last for a flush */

static __always_inline struct block_io *io_clear(struct block_io *io)
{
	if (io)
		__builtin_memset(FLIGHT_REST(io), 0, FLIGHT_REST_SIZE(io));
	return io;
}

/* The entry of the bio in flight at an address; NULL: there is none. */
static __always_inline struct block_io *bio_find(const __u64 *key)
{
	struct block_io *io = bpf_map_lookup_elem(&bios, key);

	return io && io->used ? io : NULL;
}

/* Where a bio that is queued is put together, all zero: it is not in flight before `used` is set. NULL: there is no room. */
static __always_inline struct block_io *bio_place(const __u64 *key)
{
	struct block_io *io = bpf_map_lookup_elem(&bios, key);
	__u32 zero = 0;
	void *blank;

	if (!io) {
		blank = bpf_map_lookup_elem(&blank_io, &zero);
		if (!blank || bpf_map_update_elem(&bios, key, blank, BPF_ANY))
			return NULL;
		kept_count(&bios_kept, 1);
		io = bpf_map_lookup_elem(&bios, key);
	}
	return io_clear(io);
}

static __always_inline void bio_gone(const __u64 *key, struct block_io *io)
{
	if (kept_stays(&bios_kept)) {
		io->sessions = 0;
		io->used = 0;
	} else if (!bpf_map_delete_elem(&bios, key)) {
		kept_count(&bios_kept, -1);
	}
}

/* The same three for requests. */
static __always_inline struct block_io *request_find(__u64 key)
{
	struct block_io *io = flight_find(&requests, key, requests_elsewhere);

	return io && io->used ? io : NULL;
}

static __always_inline struct block_io *request_place(__u64 key)
{
	return io_clear(flight_take(&requests, key, requests_elsewhere));
}

static __always_inline void request_gone(__u64 key, struct block_io *io)
{
	io->sessions = 0;
	io->used = 0;
	flight_release(&requests, &io->flight, key);
}

static __always_inline __u64 wanted(struct iotr_control *page, __u32 operation)
{
	return page->operation[IOTR_BLOCK][operation & (IOTR_OPERATIONS_MAX - 1)];
}

/* Whether a process sees the inode of I/O, or of an open file of direct I/O, as another one; its entry then says so. A global function. */
__noinline int io_backed(__u64 inode, __u64 open)
{
	struct place place;
	__u64 seen;

	if (!open)
		return backed_find(inode);
	place = place_of_backing(open);
	seen = place.dentry ? ADDRESS(struct dentry, place.dentry, d_inode) : 0;
	return seen && seen != inode ? backed_note(inode, number_of(place.dentry), number_of(place.mount)) : 0;
}

/* Sets inode and device to those of the file that the process sees, if that is another one. */
static __always_inline void io_seen(struct iotr_control *page, struct bio_file *file)
{
	struct backed *entry;

	if (!file->address || !is_stacking(page) || !io_backed(number_of(file->address), number_of(file->open)))
		return;
	entry = backed_known(file->address);
	if (!entry)
		return;
	file->inode = entry->number;
	file->device = entry->device;
}

/* Sessions whose path filter accepts an open file or, where that is 0, an inode. A global function. */
__noinline __u64 file_within(__u64 open, __u64 inode)
{
	struct iotr_control *page = control_page();
	struct backed *entry = page && !open ? backed_by(page, inode) : NULL;
	struct place place = {};

	if (open)
		place = place_of_direct(open);
	else if (inode)
		place = entry ? backed_place(entry) : place_of_alias(inode);
	if (!page || !place.dentry)
		return 0;
	return subtree_sessions(page, subtree_find(place));
}

/* The name of an open file or, where that is 0, of an inode. A global function. */
__noinline __u64 name_of_io(__u64 open, __u64 inode)
{
	struct iotr_control *page = control_page();
	struct backed *entry = page && !open ? backed_by(page, inode) : NULL;

	if (entry)
		return backed_name(entry);
	return name_of_place(open ? place_of_direct(open) : place_of_alias(inode));
}

/* Sets the name of the file; 0: none is known. */
static __always_inline void io_name(struct block_io *io)
{
	bool known = io->file.open || io->file.address;

	io->name = known ? name_of_io(number_of(io->file.open), number_of(io->file.address)) : 0;
}

/* A session's device filter may name the partition or the whole disk. */
static __always_inline __u64 filter_devices(struct iotr_control *page, __u64 sessions, __u32 device,
					    __u32 disk)
{
	return filter_device(page, sessions, device) | filter_device(page, sessions, disk);
}

/* Applies the filters that are decided when the I/O begins. */
static __always_inline __u64 filter_io(struct iotr_control *page, const struct block_io *io,
					    __u64 sessions)
{
	sessions &= io->actor.accepted;
	if (sessions & page->filtered[IOTR_FILTER_DEVICE])
		sessions = filter_devices(page, sessions, io->device, io->disk);
	if (sessions & page->filtered[IOTR_FILTER_PATH])
		sessions = filter_accepted(page, sessions, IOTR_FILTER_PATH,
					   file_within(number_of(io->file.open),
						       number_of(io->file.address)));
	return sessions;
}

/* Sessions that record the operation and accept new events; filters are not applied. */
static __always_inline __u64 wanted_now(struct iotr_control *page, __u32 operation)
{
	return wanted(page, operation) & page->open;
}

/*
 * Bios whose requests are in no session's sample, by a hash of the bio's address. An array costs less than
 * a hash map; a bio whose entry was overwritten gets a second draw, when its request is first seen.
 */
#define BIOS_OUT 8192

ARRAY_OF(bios_out, __u64, BIOS_OUT, 0);

static __always_inline __u64 *bio_out_entry(__u64 bio)
{
	__u32 index = iotr_mix(0, low_half(bio)) & (BIOS_OUT - 1);

	return bpf_map_lookup_elem(&bios_out, &index);
}

/* Sets or clears the entry of a bio in `bios_out`. */
static __always_inline void bio_out_note(__u64 bio, bool out)
{
	__u64 *entry = bio_out_entry(bio);

	if (entry && out != (*entry == bio))
		*entry = out ? bio : 0;
}

/* Whether a request's bio is in `bios_out`; always false while a session records every request. */
static __always_inline bool bio_is_out(struct iotr_control *page, __u64 bio, __u64 wanted)
{
	__u64 *entry;

	if (!bio || wanted & ~page->sampled[IOTR_BLOCK])
		return false;
	entry = bio_out_entry(bio);
	return entry && *entry == bio;
}

static __always_inline void emit(struct iotr_control *page, const struct block_io *io, __u64 key,
				 __u32 error)
{
	__u64 now = bpf_ktime_get_ns(), start = io->insert_ns ?: io->issue_ns, sessions;
	struct iotr_block_record *row;

	sessions = filter_begun(page, io->sessions & wanted(page, io->operation), start);
	sessions = filter_end(page, sessions, now - io->issue_ns, io->size, error);
	if (!sessions)
		return;
	row = row_begin_at(IOTR_BLOCK, io->operation, sizeof(*row), sessions, true);
	if (!row)
		return;
	head_fill(&row->head, sessions, start, now);
	row->head.latency_ns = now - io->issue_ns;
	actor_head(&row->head, &io->actor);
	row->sector = io->sector;
	row->size = io->size;
	row->queue_latency_ns = io->insert_ns ? io->issue_ns - io->insert_ns :
						     IOTR_UNKNOWN;
	row->inode = io->file.inode;
	row->name = io->name;
	row->request_id = iotr_mix(iotr_mix(io->issue_ns, low_half(key)), io->sector) >> REQUEST_ID_SHIFT;
	row->flow = io->flow;
	row->inode_device = io->file.device;
	row->device = io->device;
	row->disk = io->disk;
	row->flags = io->flags;
	row->error = error;
	row->attribution = io->attribution;
	row->dirtiers = io->dirtiers;
	__builtin_memset(row->pad, 0, sizeof(row->pad));
	row_commit(row);
}
