/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a bio's pages are: page cache, or the user's buffer of direct I/O, which may itself be a mapped
 * file. The bio's completion function (bi_end_io) tells which, and where the kernel keeps the open file of
 * direct I/O. For bios with any other completion function, as those of other file systems and the clones
 * that stacked devices make, the state of the first page tells whether the page cache reads or writes it.
 */
#pragma once

#include "aliases.bpf.h"
#include "files.bpf.h"
#include "folio.bpf.h"

#define CHAINED_MAX	  8 /* maximum of chained bios that are followed */
#define REQUEST_OPERATION 0xff /* bits of the operation in cmd_flags and bi_opf */
#define REQUEST_READ	  0
#define REQUEST_WRITE	  1

/* What carried_by() returns if not the address of the open file whose direct I/O the bio is. */
enum carried {
	CARRIED_CACHE,	/* pages of the page cache, or no pages at all */
	CARRIED_BUFFER, /* direct I/O on a block device, or on a file that is not known */
	CARRIED_UNTOLD, /* its completion function does not tell */
	CARRIED_LAST,
};

/* The address of the first page of a bio; 0: none. */
static __always_inline __u64 bio_first_page(struct bio *bio)
{
	struct bio_vec *vector = READ(struct bio, bio, bi_io_vec);

	return vector ? ADDRESS(struct bio_vec, vector, bv_page) : 0;
}

static __always_inline __u64 file_of_iocb(__u64 iocb)
{
	__u64 file = iocb ? ADDRESS(struct kiocb, iocb, ki_filp) : 0;

	return file ?: CARRIED_BUFFER;
}

/* Not inlined, as the compiler would hoist offsets of fields that a kernel lacks out of their branch. */
static __noinline __u64 iocb_of_iomap(__u64 dio)
{
	return ADDRESS(struct iomap_dio, dio, iocb);
}

static __noinline __u64 iocb_of_simple(__u64 bio)
{
	return ADDRESS(struct iomap_dio_simple, bio - bpf_core_field_offset(struct iomap_dio_simple, bio), iocb);
}

static __always_inline bool is_simple_read(const struct iotr_control *page, __u64 bio, __u64 end)
{
	__u64 pool = page->bio_ends[IOTR_BIO_IOMAP_POOL];

	return end == page->bio_ends[IOTR_BIO_IOMAP_SIMPLE] || (pool && ADDRESS(struct bio, bio, bi_pool) == pool);
}

static __noinline __u64 iocb_of_dio(__u64 dio)
{
	return ADDRESS(struct dio, dio, iocb);
}

/* Of a block device; its first bio is a part of it. */
static __noinline __u64 iocb_of_disk(__u64 dio, bool first)
{
	if (first)
		dio -= bpf_core_field_offset(struct blkdev_dio, bio);
	return ADDRESS(struct blkdev_dio, dio, iocb);
}

/* Reads the pointer at an address, for members whose offset the daemon finds, as CO-RE cannot relocate them. */
static __always_inline __u64 address_at(__u64 where)
{
	__u64 address = 0;

	if (typed_reads)
		return READ(struct timespec64, (void *)where, tv_sec);
	bpf_probe_read_kernel(&address, sizeof(address), (void *)where);
	return address;
}

static __noinline __u64 iocb_of_btrfs(__u64 bio, const struct iotr_control *page)
{
	__u64 whole = bio - page->btrfs.bio, direct = page->bio_ends[IOTR_BIO_BTRFS_DIRECT];

	if (!direct || address_at(whole + page->btrfs.end_io) != direct)
		return CARRIED_UNTOLD;
	return iocb_of_iomap(address_at(whole + page->btrfs.private));
}

/* The kernel's struct kiocb of direct I/O on a file, 0: it has none; CARRIED_UNTOLD: the bio is of something else. */
static __always_inline __u64 iocb_by_end(const struct iotr_control *page, __u64 bio, __u64 end)
{
	if (bpf_core_type_exists(struct iomap_dio) && end == page->bio_ends[IOTR_BIO_IOMAP])
		return iocb_of_iomap(ADDRESS(struct bio, bio, bi_private));
	if (bpf_core_type_exists(struct iomap_dio_simple) && is_simple_read(page, bio, end))
		return iocb_of_simple(bio);
	if (bpf_core_type_exists(struct dio) &&
	    (end == page->bio_ends[IOTR_BIO_DIO] || end == page->bio_ends[IOTR_BIO_DIO_ASYNC]))
		return iocb_of_dio(ADDRESS(struct bio, bio, bi_private));
	if (bpf_core_type_exists(struct iomap_dio) && end == page->bio_ends[IOTR_BIO_BTRFS])
		return iocb_of_btrfs(bio, page);
	return CARRIED_UNTOLD;
}

/* Follows a bio to the one that it is a part of. Returns its completion function, 0: there is none. */
static __always_inline __u64 bio_whole(const struct iotr_control *page, __u64 *bio)
{
	__u64 end = ADDRESS(struct bio, *bio, bi_end_io);

	for (int i = 0; i < CHAINED_MAX && end && end == page->bio_ends[IOTR_BIO_CHAIN]; i++) {
		*bio = ADDRESS(struct bio, *bio, bi_private);
		end = ADDRESS(struct bio, *bio, bi_end_io);
	}
	return end;
}

/* What a bio carries by its completion function: an open file or enum carried. A global function. */
__noinline __u64 carried_by(__u64 bio)
{
	struct iotr_control *page = control_page();
	__u64 end, iocb;

	if (!page)
		return CARRIED_UNTOLD;
	end = bio_whole(page, &bio);
	if (!end)
		return CARRIED_UNTOLD;
	if (end == page->bio_ends[IOTR_BIO_BUFFER])
		return CARRIED_CACHE;
	if (end == page->bio_ends[IOTR_BIO_DISK] || end == page->bio_ends[IOTR_BIO_DISK_ASYNC] ||
	    end == page->bio_ends[IOTR_BIO_DISK_SIMPLE])
		return CARRIED_BUFFER;
	iocb = iocb_by_end(page, bio, end);
	return iocb == CARRIED_UNTOLD ? CARRIED_UNTOLD : file_of_iocb(iocb);
}

/*
 * The address of the kernel's struct kiocb that a bio of direct I/O is of; of a block device it may be that of a waiting
 * task. 0: none. A global function.
 */
__noinline __u64 iocb_of(__u64 bio)
{
	struct iotr_control *page = control_page();
	__u64 end, iocb;

	if (!page)
		return 0;
	end = bio_whole(page, &bio);
	if (!end)
		return 0;
	if (end == page->bio_ends[IOTR_BIO_DISK])
		return iocb_of_disk(ADDRESS(struct bio, bio, bi_private), false);
	if (end == page->bio_ends[IOTR_BIO_DISK_ASYNC])
		return iocb_of_disk(bio, true);
	iocb = iocb_by_end(page, bio, end);
	return iocb == CARRIED_UNTOLD ? 0 : iocb;
}

/* Whether the page cache reads a folio (locked, not up to date) or writes it (under writeback). */
static __always_inline bool folio_in_transfer(__u64 folio, bool reads)
{
	__u64 flags = folio_flags(folio);

	if (!reads)
		return flags >> bpf_core_enum_value(enum pageflags, PG_writeback) & 1;
	return flags >> bpf_core_enum_value(enum pageflags, PG_locked) & 1 &&
	       !(flags >> bpf_core_enum_value(enum pageflags, PG_uptodate) & 1);
}

/* What a bio carries: the open file whose direct I/O it is, CARRIED_CACHE or CARRIED_BUFFER. */
static __always_inline __u64 carried(struct bio *bio)
{
	__u64 by = carried_by(number_of((__u64)bio)), page;

	if (by != CARRIED_UNTOLD)
		return by;
	page = bio_first_page(bio);
	if (!page || folio_in_transfer(page_folio(page), (READ(struct bio, bio, bi_opf) & REQUEST_OPERATION) == REQUEST_READ))
		return CARRIED_CACHE;
	return CARRIED_BUFFER;
}

/* The place of an open file of direct I/O; of one that the kernel opened internally, by its inode. */
static __always_inline struct place place_of_direct(__u64 file)
{
	struct place place = place_of_backing(file);

	if (!mount_unseen(place.mount))
		return place;
	return place_of_alias(ADDRESS(struct file, file, f_inode));
}
