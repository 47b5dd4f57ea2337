/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Layers FILESYSTEM and DEVICE. A bio counts for the file system that submits it, and a request for its disk when it ends;
 * of disks without requests, a bio does. All disks are counted: the daemon leaves out those that are made of others.
 */
#pragma once

#include "blockdev.bpf.h"
#include "layers_dirty.bpf.h"

#define LAYER_BIOS     8192 /* that are queued, at most; LRU, as no hook removes merged ones */
#define LAYER_REQUESTS 4096 /* that are in flight, at most */
#define LAYER_FLUSHERS 64   /* disks whose last flush is known */
#define LAYER_PAGES    512  /* pages of one bio whose dirtiers are looked for */
#define LAYER_CHUNK    32   /* of these, at a time */
#define LAYER_CHAIN    4    /* maximum of bios from a part of one to what it was split off */

#define CLONED		(1 << 1) /* in bi_flags: by a device that is made of others */
#define NO_LAYER	0xffffffffU

struct layer_bio {
	struct layer_origin origin;
	__u64 begin_ns;
	__u64 sector;
	__u64 bytes;
};

struct layer_request {
	struct layer_origin origin;
	__u64 begin_ns;
};

HASH_OF(layer_bios, LRU_HASH, __u64, struct layer_bio, LAYER_BIOS);
HASH_OF(layer_requests, HASH, __u64, struct layer_request, LAYER_REQUESTS);
HASH_OF(layer_flushers, LRU_HASH, __u32, struct layer_origin, LAYER_FLUSHERS);

/* ---- file systems ---- */

/* The inode of the page cache that a bio reads or writes; 0: it carries something else. */
static __always_inline __u64 cached_inode(struct bio *bio, __u64 by, bool reads)
{
	__u64 page = bio_first_page(bio), folio = page ? page_folio(page) : 0;
	__u64 mapping;

	if (!folio || (by != CARRIED_CACHE && by != CARRIED_UNTOLD))
		return 0;
	if (by == CARRIED_UNTOLD && !folio_in_transfer(folio, reads))
		return 0;
	mapping = folio_mapping(folio);
	return mapping ? ADDRESS(struct address_space, mapping, host) : 0;
}

/* The layer that a bio counts for; NO_LAYER: a device that is made of others has submitted it. */
static __always_inline __u32 layer_of_bio(struct bio *bio, __u32 flags, __u64 by, __u64 inode)
{
	bool reads = (flags & REQUEST_OPERATION) == REQUEST_READ;
	bool meta = flags >> bpf_core_enum_value(enum req_flag_bits, __REQ_META) & 1;
	bool regular = inode && (READ(struct inode, inode, i_mode) & S_IFMT) == S_IFREG;

	if (by == CARRIED_BUFFER || by >= CARRIED_LAST || (regular && !meta))
		return reads ? IOTR_LAYER_FS_READ : IOTR_LAYER_FS_WRITE;
	if (!reads && !regular && (is_jbd2() || is_xfs_log(bio)))
		return IOTR_LAYER_FS_JOURNAL_WRITE;
	if (meta)
		return reads ? IOTR_LAYER_FS_METADATA_READ : IOTR_LAYER_FS_METADATA_WRITE;
	if (inode)
		return reads ? IOTR_LAYER_FS_READ : IOTR_LAYER_FS_WRITE;
	return NO_LAYER;
}

/* The device that a bio's file system counts under: that of its files, where a file is known. */
static __always_inline __u32 device_of_bio(struct bio *bio, __u64 by, __u64 inode)
{
	if (by >= CARRIED_LAST)
		inode = ADDRESS(struct file, by, f_inode);
	if (inode && (READ(struct inode, inode, i_mode) & S_IFMT) == S_IFREG)
		return READ(struct super_block, READ(struct inode, inode, i_sb), s_dev);
	return bio_device(bio, bio_disk(bio));
}

/* Index of the account that counts a page: of the process that made it dirty, and the device of its file system. */
static __always_inline __u32 account_of_page(__u32 dirtier, __u32 device)
{
	const struct iotr_layer_key *key = bpf_map_lookup_elem(&layer_keys, &dirtier);

	if (dirtier == NO_DIRTIER)
		return account_current(device);
	if (dirtier < IOTR_LAYER_FIRST || !key)
		return dirtier;
	return account_find(key->start_ns, key->process, device);
}

/*
 * Counts `pages` pages of a file that are written back, from `first` on, for those who made them dirty. The first one
 * has the operation. A global function.
 */
__noinline int pages_count(__u64 mapping, __u64 first, __u32 pages, __u32 device, __u32 operations)
{
	__u32 index;

	for (__u32 i = 0; i < LAYER_CHUNK && i < pages; i++) {
		index = account_of_page(dirtier_of(mapping, first + i), device);
		COUNT_LAYER(index, IOTR_LAYER_FS_WRITE, i ? 0 : operations, 1 << PAGE_SHIFT_DIRTY);
	}
	return 0;
}

/* Counts a bio of write-back of a file's data, page by page. A global function. */
__noinline int write_back_count(__u64 mapping, __u64 first, __u32 bytes, __u32 device)
{
	__u32 pages = (bytes + (1 << PAGE_SHIFT_DIRTY) - 1) >> PAGE_SHIFT_DIRTY, index;
	__u64 rest;

	for (__u32 done = 0; done < LAYER_PAGES && done < pages; done += LAYER_CHUNK)
		pages_count(mapping, first + done, pages - done, device, !done);
	index = account_of_page(dirtier_of(mapping, first), device);
	if (pages > LAYER_PAGES) {
		rest = (__u64)(pages - LAYER_PAGES) << PAGE_SHIFT_DIRTY;
		COUNT_LAYER(index, IOTR_LAYER_FS_WRITE, 0, rest);
	}
	rest = ((__u64)pages << PAGE_SHIFT_DIRTY) - bytes; /* of a file system with smaller blocks */
	if (rest)
		COUNT_LAYER(index, IOTR_LAYER_FS_WRITE, 0, minus(rest));
	return 0;
}

/* The index in its file of the first page of a bio. */
static __always_inline __u64 first_index(struct bio *bio)
{
	__u64 page = bio_first_page(bio), head = page_folio(page);

	return folio_index(head) + (page - head) / bpf_core_type_size(struct page) +
	       (READ(struct bio_vec, READ(struct bio, bio, bi_io_vec), bv_offset) >> PAGE_SHIFT_DIRTY);
}

/* Counts a bio that a file system submits. A global function. */
__noinline int filesystem_count(__u64 address, __u32 flags)
{
	struct bio *bio = (struct bio *)address;
	__u32 operation = flags & REQUEST_OPERATION, layer, index, device;
	__u64 bytes = READ(struct bio, bio, bi_iter.bi_size), by, inode;

	if (operation > 1 || !bytes || READ(struct bio, bio, bi_flags) & CLONED)
		return 0;
	by = carried_by(address);
	inode = cached_inode(bio, by, operation == REQUEST_READ);
	layer = layer_of_bio(bio, flags, by, inode);
	if (layer >= IOTR_LAYER_COUNT)
		return 0;
	device = device_of_bio(bio, by, inode);
	if (layer == IOTR_LAYER_FS_WRITE && inode)
		return write_back_count(folio_mapping(page_folio(bio_first_page(bio))), first_index(bio), bytes, device);
	index = account_current(device);
	COUNT_LAYER(index, layer, 1, bytes);
	return 0;
}

/*
 * Who a bio is for: of data that is written back, who made its first page dirty, otherwise the current process. A global
 * function, which returns the index of an account, or NO_DIRTIER for the current process.
 */
__noinline __u32 bio_dirtier(__u64 address, __u32 flags)
{
	struct bio *bio = (struct bio *)address;
	__u64 inode;

	if ((flags & REQUEST_OPERATION) != 1 || !READ(struct bio, bio, bi_iter.bi_size))
		return NO_DIRTIER;
	inode = cached_inode(bio, carried_by(address), false);
	if (!inode)
		return NO_DIRTIER;
	return dirtier_of(folio_mapping(page_folio(bio_first_page(bio))), first_index(bio));
}

static __always_inline struct layer_origin origin_of_bio(struct bio *bio, __u32 flags)
{
	__u32 dirtier = bio_dirtier(number_of((__u64)bio), flags);
	const struct iotr_layer_key *key;
	struct layer_origin origin = {};

	if (dirtier == NO_DIRTIER)
		return origin_current();
	origin.own = dirtier == IOTR_LAYER_OWN;
	key = dirtier < IOTR_LAYER_FIRST ? NULL : bpf_map_lookup_elem(&layer_keys, &dirtier);
	if (key) {
		origin.start_ns = key->start_ns;
		origin.process = key->process;
	}
	return origin;
}

static __always_inline int bio_begins(struct bio *bio)
{
	struct iotr_control *page = control_page();
	__u32 flags = READ(struct bio, bio, bi_opf), disk;
	struct layer_bio entry = { .origin = origin_of_bio(bio, flags) };
	__u64 key = (__u64)bio;

	filesystem_count(number_of((__u64)bio), flags);
	disk = bio_disk(bio);
	account_current(disk); /* so that the process is known when the request ends */
	entry.begin_ns = bpf_ktime_get_ns();
	entry.sector = READ(struct bio, bio, bi_iter.bi_sector);
	entry.bytes = READ(struct bio, bio, bi_iter.bi_size);
	bpf_map_update_elem(&layer_bios, &key, &entry, BPF_ANY);
	if (page && flags & page->request_preflush)
		bpf_map_update_elem(&layer_flushers, &disk, &entry.origin, BPF_ANY);
	return 0;
}

/* ---- devices ---- */

static __always_inline __u32 layer_of_operation(__u32 operation, bool flushes)
{
	switch (operation) {
	case IOTR_BLOCK_READ:
		return IOTR_LAYER_DEVICE_READ;
	case IOTR_BLOCK_WRITE:
		return flushes ? IOTR_LAYER_DEVICE_FLUSH : IOTR_LAYER_DEVICE_WRITE;
	case IOTR_BLOCK_FLUSH:
		return IOTR_LAYER_DEVICE_FLUSH;
	case IOTR_BLOCK_DISCARD:
	case IOTR_BLOCK_SECURE_ERASE:
	case IOTR_BLOCK_WRITE_ZEROES:
		return IOTR_LAYER_DEVICE_DISCARD;
	default:
		return NO_LAYER;
	}
}

/* Counts what a disk has done. `begin_ns` 0: not known. A global function. */
__noinline int device_count(__u32 index, __u32 layer, __u64 bytes, __u64 begin_ns, __u32 whole_and_failed)
{
	struct iotr_layer_counts *counts = counts_of(index);
	__u64 latency = bpf_ktime_get_ns() - begin_ns, timed = layer;
	__u32 bucket = bucket_of(latency);

	if (!counts || layer >= IOTR_LAYER_COUNT)
		return 0;
	sum_add(&counts->sums[layer], whole_and_failed & 1, bytes);
	__sync_fetch_and_add(&counts->sums[layer].errors, whole_and_failed >> 1);
	asm volatile("" : "+r"(timed)); /* older verifiers lose the bounds of a number that is copied before they are known */
	if (!begin_ns || !(whole_and_failed & 1) || timed >= IOTR_LAYER_TIMED)
		return 0;
	__sync_fetch_and_add(&counts->latency_ns[timed], latency);
	__sync_fetch_and_add(&counts->latency[timed][bucket], 1);
	return 0;
}

/*
 * What was noted of the bio that a request is made of, or of the one that this was split off; NULL: nothing. The request
 * begins within it: otherwise this was noted of an earlier bio at the same address.
 */
static __always_inline struct layer_bio *bio_noted(struct iotr_control *page, __u64 bio, __u64 sector)
{
	struct layer_bio *noted;
	__u64 distance;

	for (int i = 0; i < LAYER_CHAIN && bio; i++) {
		noted = bpf_map_lookup_elem(&layer_bios, &bio);
		distance = noted ? sector - noted->sector : 0;
		if (noted && (!distance || distance < noted->bytes >> 9))
			return noted;
		if (ADDRESS(struct bio, bio, bi_end_io) != page->bio_ends[IOTR_BIO_CHAIN])
			break;
		bio = ADDRESS(struct bio, bio, bi_private);
	}
	return NULL;
}

static __always_inline int request_issued(struct request *request)
{
	struct layer_request entry = { .begin_ns = bpf_ktime_get_ns() };
	__u64 key = (__u64)request, bio = ADDRESS(struct request, request, bio);
	struct iotr_control *page = control_page();
	struct layer_origin *flusher;
	struct layer_bio *noted;
	__u32 disk;

	if (!page)
		return 0;
	noted = bio_noted(page, bio, READ(struct request, request, __sector));
	if (noted) {
		entry.origin = noted->origin;
	} else if (!bio) {
		disk = request_disk(request);
		flusher = bpf_map_lookup_elem(&layer_flushers, &disk);
		if (flusher)
			entry.origin = *flusher;
	}
	bpf_map_update_elem(&layer_requests, &key, &entry, BPF_ANY);
	return 0;
}

/* A request that was issued before the programs were attached, or found no room, counts for no process. */
static __always_inline int request_ended(struct request *request, int error, unsigned int bytes)
{
	struct iotr_control *page = control_page();
	__u64 key = (__u64)request, begin_ns = 0;
	struct layer_request *entry;
	struct layer_origin origin = {};
	__u32 operation, layer;
	bool whole;

	if (!page)
		return 0;
	operation = page->block_operation[READ(struct request, request, cmd_flags) & REQUEST_OPERATION];
	layer = layer_of_operation(operation, false);
	whole = error || !bytes || bytes >= READ(struct request, request, __data_len);
	entry = bpf_map_lookup_elem(&layer_requests, &key);
	if (entry) {
		origin = entry->origin;
		begin_ns = entry->begin_ns;
	}
	if (layer == IOTR_LAYER_DEVICE_WRITE && !bytes && !error)
		layer = NO_LAYER; /* it only asked for a flush, which is a request of its own */
	if (layer != NO_LAYER)
		device_count(account_of(&origin, request_disk(request)), layer, error ? 0 : bytes, begin_ns,
			     whole | !!error << 1);
	if (entry && whole)
		bpf_map_delete_elem(&layer_requests, &key);
	return 0;
}

/* A bio of a disk without requests ends. */
static __always_inline int bio_ended_at(struct bio *bio)
{
	struct iotr_control *page = control_page();
	__u64 key = (__u64)bio;
	struct layer_bio *noted = bpf_map_lookup_elem(&layer_bios, &key);
	struct layer_origin origin = {};
	__u32 flags = READ(struct bio, bio, bi_opf), layer;
	bool failed = READ(struct bio, bio, bi_status);

	if (!page || !noted || bio_has_requests(bio))
		return 0;
	layer = layer_of_operation(page->block_operation[flags & REQUEST_OPERATION], !noted->bytes);
	origin = noted->origin;
	if (layer != NO_LAYER)
		device_count(account_of(&origin, bio_disk(bio)), layer, failed ? 0 : noted->bytes, noted->begin_ns,
			     1 | failed << 1);
	bpf_map_delete_elem(&layer_bios, &key);
	return 0;
}
