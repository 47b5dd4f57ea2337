/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Layers FILESYSTEM and DEVICE. A bio counts for the file system that submits it, and a request for its disk when it ends;
 * of disks without requests, a bio does. All disks are counted: the daemon leaves out those that are made of others.
 */
#pragma once

#include "blockdev.bpf.h"
#include "layers_account.bpf.h"
#include "own_writes.bpf.h"
#include "tally.bpf.h"

#define LAYER_BIOS     8192 /* that are queued, at most; LRU, as no hook removes merged ones */
#define LAYER_REQUESTS 4096 /* that are in flight, at most */
#define LAYER_FLUSHERS 64   /* disks whose last flush is known */
#define LAYER_CHAIN    4    /* maximum of bios from a part of one to what it was split off */

#define NO_LAYER 0xffffffffU

/* What a bio counted for, as a number: the index of an account, and the layer. NO_LAYER: for none. */
#define COUNTED(account, layer) ((account) << 8 | (layer))

struct layer_bio {
	struct layer_origin origin;
	__u64 begin_ns;
	__u64 sector;
	__u64 bytes;
	__u32 counted; /* see COUNTED() */
	__u32 pad;
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
	__u32 own;

	if (by == CARRIED_BUFFER || by >= CARRIED_LAST || (regular && !meta))
		return reads ? IOTR_LAYER_FS_READ : IOTR_LAYER_FS_WRITE;
	own = reads || regular ? OWN_NOTHING : own_writes(number_of((__u64)bio), 0);
	if (own_is_log(own))
		return IOTR_LAYER_FS_JOURNAL_WRITE;
	if (meta || own)
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
	return bio_device_at((__u64)bio);
}

/* Who made pages dirty, by a number; the kernel, if that is not known. */
static __always_inline struct layer_origin origin_of_dirtier(__u32 number)
{
	const struct dirtier *dirtier = dirtier_find(number);
	struct layer_origin origin = {};

	if (!dirtier || !dirtier->start_ns)
		return origin;
	origin.start_ns = dirtier->start_ns;
	origin.process = dirtier->actor.pid;
	origin.own = dirtier->own;
	return origin;
}

/* Counts what one of the tallied processes made dirty. Returns the index of the account. A global function. */
__noinline __u32 tallied_count(__u32 at, __u32 device, __u32 operations, __u64 bytes)
{
	__u32 which = TALLY_LAYERS, index;
	struct tally *tally = bpf_map_lookup_elem(&tallies, &which);
	struct layer_origin origin;

	if (!tally || at >= TALLIED_MAX)
		return IOTR_LAYER_OTHER;
	origin = origin_of_dirtier(tally->of[at].dirtier);
	index = account_of(&origin, device);
	COUNT_LAYER(index, IOTR_LAYER_FS_WRITE, operations, bytes);
	return index;
}

/*
 * Counts a bio of write-back of a file's data, which was tallied, for those who made its pages dirty: the operation for the
 * first of them, and for the current process what nobody is known of. Returns the account of the operation. A global function.
 */
__noinline __u32 write_back_count(__u64 bytes, __u32 device)
{
	__u32 which = TALLY_LAYERS, index, first = IOTR_LAYER_OTHER, operations = 1;
	struct tally *tally = bpf_map_lookup_elem(&tallies, &which);

	if (!tally)
		return first;
	for (__u32 at = 0; at < TALLIED_MAX && at < tally->head.count; at++) {
		__u64 part = tally->of[at].pages * PAGE_SIZE;

		/* The last page may be in use in part, and of a large bio not all pages are looked at. */
		if (part > bytes || (at + 1 == tally->head.count && !tally->head.unknown && !tally->head.others))
			part = bytes;
		index = tallied_count(at, device, operations, part);
		first = operations ? index : first;
		bytes -= part;
		operations = 0;
	}
	if (!bytes)
		return first;
	index = tally->head.others && !tally->head.unknown ? IOTR_LAYER_OTHER : account_current(device);
	COUNT_LAYER(index, IOTR_LAYER_FS_WRITE, operations, bytes);
	return operations ? index : first;
}

/* The layer of a clone: those of devices that are made of others have none, but older btrfs clones what direct I/O does. */
static __always_inline __u32 layer_of_clone(struct bio *bio, __u32 layer, __u64 inode, bool reads)
{
	struct iotr_control *page = control_page();
	__u64 end = ADDRESS(struct bio, bio, bi_end_io);

	if (!page || !end || (end != page->bio_ends[IOTR_BIO_BTRFS] && end != page->bio_ends[IOTR_BIO_BTRFS_OLD]))
		return NO_LAYER;
	return layer == NO_LAYER && !inode ? (reads ? IOTR_LAYER_FS_READ : IOTR_LAYER_FS_WRITE) : NO_LAYER;
}

/*
 * Counts a bio that a file system submits, for a process. If it writes data back, that was tallied. Returns COUNTED(), or NO_LAYER.
 * A global function.
 */
__noinline __u32 filesystem_count(__u64 address, __u32 flags, __u64 start_ns, __u32 process, __u32 own)
{
	struct bio *bio = (struct bio *)address;
	const struct layer_origin origin = { start_ns, process, own };
	__u32 operation = flags & REQUEST_OPERATION, layer, device;
	__u64 bytes = READ(struct bio, bio, bi_iter.bi_size), by, inode;
	__u32 index;

	if (operation > 1 || !bytes)
		return NO_LAYER;
	by = carried_by(address);
	inode = cached_inode(bio, by, operation == REQUEST_READ);
	layer = layer_of_bio(bio, flags, by, inode);
	if (READ(struct bio, bio, bi_flags) & BIO_CLONED)
		layer = layer_of_clone(bio, layer, inode, operation == REQUEST_READ);
	if (layer >= IOTR_LAYER_COUNT)
		return NO_LAYER;
	device = device_of_bio(bio, by, inode);
	if (layer == IOTR_LAYER_FS_WRITE && inode) {
		index = write_back_count(bytes, device);
	} else {
		index = account_of(&origin, device);
		COUNT_LAYER(index, layer, 1, bytes);
	}
	return COUNTED(index, layer);
}

/* Tallies whose pages a bio writes back; false: it does something else. A global function. */
__noinline int bio_tallied(__u64 address, __u32 flags)
{
	struct bio *bio = (struct bio *)address;

	if ((flags & REQUEST_OPERATION) != REQUEST_WRITE || !READ(struct bio, bio, bi_iter.bi_size) ||
	    !cached_inode(bio, carried_by(address), false))
		return false;
	tally_begin(TALLY_LAYERS);
	tally_bio(TALLY_LAYERS, address);
	return true;
}

/*
 * The number of the dirtier for whom a bio writes to a log, or a buffer that is not in the page cache; 0: it does something else, or
 * nobody is known. A global function.
 */
__noinline __u32 log_cause(__u64 address, __u32 flags)
{
	struct bio *bio = (struct bio *)address;
	__u64 by = carried_by(address), inode;
	__u32 own;

	if ((flags & REQUEST_OPERATION) != REQUEST_WRITE || by == CARRIED_BUFFER || by >= CARRIED_LAST)
		return 0;
	inode = cached_inode(bio, by, false);
	if (inode && (READ(struct inode, inode, i_mode) & S_IFMT) == S_IFREG)
		return 0;
	own = own_writes(number_of(address), 0);
	return own_by_pages(own) ? 0 : own_cause(number_of(address), own);
}

/*
 * Who a bio is for: of data and metadata that is written back, who made most of it dirty, of a log who changed most, otherwise the
 * current process.
 */
static __always_inline struct layer_origin origin_of_bio(struct bio *bio, __u32 flags)
{
	__u32 which = TALLY_LAYERS, most, number = log_cause(number_of((__u64)bio), flags);
	struct tally *tally;

	if (number)
		return origin_of_dirtier(number);
	if (!bio_tallied(number_of((__u64)bio), flags))
		return origin_current();
	most = tally_most(TALLY_LAYERS);
	tally = bpf_map_lookup_elem(&tallies, &which);
	if (!tally || most >= TALLIED_MAX)
		return origin_current();
	return origin_of_dirtier(tally->of[most].dirtier);
}

static __always_inline int bio_begins(struct bio *bio)
{
	struct iotr_control *page = control_page();
	__u32 flags = READ(struct bio, bio, bi_opf), disk;
	struct layer_bio entry = { .origin = origin_of_bio(bio, flags) };
	__u64 key = (__u64)bio;

	disk = bio_disk(bio);
	account_current(disk); /* so that the process is known */
	entry.counted = filesystem_count(number_of((__u64)bio), flags, entry.origin.start_ns, entry.origin.process,
					 entry.origin.own);
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

	if (!counts || layer >= IOTR_LAYER_COUNT)
		return 0;
	sum_add(&counts->sums[layer], whole_and_failed & 1, bytes);
	__sync_fetch_and_add(&counts->sums[layer].errors, whole_and_failed >> 1);
	return whole_and_failed & 1 ? latency_ends(index, layer, begin_ns) : 0;
}

/* A bio ends, or the last part of one that others were split off: with it the operation of the layer that it counted for, if any. */
static __always_inline void bio_ends(__u64 bio, const struct layer_bio *noted)
{
	if (noted->counted != NO_LAYER)
		latency_ends(noted->counted >> 8, noted->counted & 0xff, noted->begin_ns);
	bpf_map_delete_elem(&layer_bios, &bio);
}

/* The bios that a request is made of end with it. A global function. */
__noinline int bios_end(__u64 bio)
{
	for (int i = 0; i < MERGED_MAX && bio; i++) {
		const struct layer_bio *noted = bpf_map_lookup_elem(&layer_bios, &bio);

		if (noted)
			bio_ends(bio, noted);
		bio = ADDRESS(struct bio, bio, bi_next);
	}
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
	if (whole)
		bios_end(ADDRESS(struct request, request, bio));
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
	bio_ends(key, noted);
	return 0;
}
