/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading disks, partitions, bios and their files, on every layout that kernels since 5.10 have. */
#pragma once

#include "actor.bpf.h"
#include "direct.bpf.h"

#define MINOR_BITS     20
#define BTRFS_METADATA 1 /* number of the inode that has it */

/* The file whose data a bio carries. */
struct bio_file {
	__u64 inode;   /* inode number, or IOTR_UNKNOWN */
	__u64 address; /* address of the inode, 0: none */
	__u64 open;    /* of direct I/O: address of the open file, 0: none */
	__u32 device;
	__u32 pad;
};

/* Programs for a tracepoint whose arguments are a queue and an object of it or, since 5.11, the object alone. */
#define QUEUE_HOOK(name, hook, object, call)                                                    \
	SEC("tp_btf/" #hook)                                                                    \
	int BPF_PROG(name##__1, object)                                                         \
	{                                                                                       \
		return call;                                                                    \
	}                                                                                       \
	SEC("tp_btf/" #hook)                                                                    \
	int BPF_PROG(name##__2, struct request_queue *queue, object)                            \
	{                                                                                       \
		return call;                                                                    \
	}

/* Bios and requests are those that a program on a typed tracepoint is given, or what FOLLOW() tells of them. */

static __always_inline __u32 disk_number(struct gendisk *disk)
{
	if (!disk)
		return 0;
	return (__u32)FOLLOW(disk, major) << MINOR_BITS | (__u32)FOLLOW(disk, first_minor);
}

static __always_inline struct gendisk *bio_gendisk(struct bio *bio)
{
	if (HAS_BIO_DEVICE)
		return FOLLOW(FOLLOW(bio, bi_bdev), bd_disk);
	return READ(struct bio___510, bio, bi_disk);
}

static __always_inline __u32 bio_disk(struct bio *bio)
{
	return disk_number(bio_gendisk(bio));
}

/* On kernels without bi_bdev, a bio has already been remapped from its partition to the disk when it is queued. */
static __always_inline __u32 bio_device(struct bio *bio, __u32 disk)
{
	return HAS_BIO_DEVICE ? FOLLOW(FOLLOW(bio, bi_bdev), bd_dev) : disk;
}

/* The same of a bio that is known by its address alone. */
static __always_inline __u32 bio_device_at(__u64 bio)
{
	struct gendisk *disk;

	if (HAS_BIO_DEVICE)
		return READ(struct block_device, READ(struct bio, bio, bi_bdev), bd_dev);
	disk = READ(struct bio___510, bio, bi_disk);
	return READ(struct gendisk, disk, major) << MINOR_BITS | (__u32)READ(struct gendisk, disk, first_minor);
}

static __always_inline bool bio_has_requests(struct bio *bio)
{
	return FOLLOW(FOLLOW(bio_gendisk(bio), queue), mq_ops);
}

#define QUEUE_FLAG_FUA 18	     /* in queue_flags, up to 6.10 */
#define BLK_FEAT_FUA   (1U << 1) /* in limits.features, since then */

/* Whether a bio's disk writes through its cache when it is asked to, so that no flush has to follow. */
static __always_inline bool bio_disk_has_fua(struct bio *bio)
{
	struct request_queue *queue = FOLLOW(bio_gendisk(bio), queue);

	if (bpf_core_field_exists(struct queue_limits, features))
		return READ(struct request_queue, queue, limits.features) & BLK_FEAT_FUA;
	return READ(struct request_queue, queue, queue_flags) >> QUEUE_FLAG_FUA & 1;
}

/* How many flushes of its disk a bio asks for: before its data, and after it. */
static __always_inline __u32 bio_flushes(const struct iotr_control *page, struct bio *bio, __u32 flags)
{
	__u32 fua = flags >> bpf_core_enum_value(enum req_flag_bits, __REQ_FUA) & 1;

	return !!(flags & page->request_preflush) + (fua && !bio_disk_has_fua(bio));
}

static __always_inline __u32 request_disk(struct request *request)
{
	if (HAS_QUEUE_DISK)
		return disk_number(FOLLOW(FOLLOW(request, q), disk));
	return disk_number(READ(struct request___510, request, rq_disk));
}

static __always_inline __u32 request_device(struct request *request, __u32 disk)
{
	struct bio *bio = FOLLOW(request, bio);
	struct hd_struct___510 *old;
	struct block_device *part;

	if (HAS_BIO_DEVICE) {
		if (bio)
			return bio_device(bio, disk);
		part = FOLLOW(request, part);
		return part ? FOLLOW(part, bd_dev) : disk;
	}
	old = READ(struct request___510, request, part);
	return old ? READ(struct hd_struct___510, old, __dev.devt) : disk;
}

/* Whether an inode is none of a file, but has the metadata of btrfs in its pages. A global function. */
__noinline __u32 is_btrfs_metadata(__u64 inode)
{
	__u64 sb = inode && READ(struct inode, inode, i_ino) == BTRFS_METADATA ? ADDRESS(struct inode, inode, i_sb) : 0;

	return sb && READ(struct super_block, sb, s_magic) == BTRFS_MAGIC;
}

/* The inode that the first page of a bio belongs to, or 0. */
static __always_inline __u64 inode_of_pages(struct bio *bio)
{
	__u64 page = bio_first_page(bio), mapping;

	mapping = page ? folio_mapping(page_folio(page)) : 0;
	return mapping ? ADDRESS(struct address_space, mapping, host) : 0;
}

/* Whether an inode is that of a disk which somebody holds: mostly a file system, whose metadata its pages are then. */
static __always_inline bool disk_is_held(__u64 inode)
{
	__u64 sb = inode ? (__u64)READ(struct inode, inode, i_sb) : 0;

	if (!sb || READ(struct super_block, sb, s_magic) != BDEVFS_MAGIC)
		return false;
	inode -= bpf_core_field_offset(struct bdev_inode, vfs_inode);
	return ADDRESS(struct block_device, inode + bpf_core_field_offset(struct bdev_inode, bdev), bd_holder);
}

/* What a bio carries: see carried(). One without data carries no pages of a file. */
static __always_inline __u64 bio_carries(struct bio *bio)
{
	return READ(struct bio, bio, bi_iter.bi_size) ? carried(bio) : CARRIED_BUFFER;
}

/* Sets the file that an inode is. A block device and metadata do not count as one; then, as for 0, there is none. */
static __always_inline void file_of_inode(__u64 inode, struct bio_file *ret)
{
	__u64 sb = inode ? (__u64)READ(struct inode, inode, i_sb) : 0;

	ret->open = ret->address = 0;
	ret->inode = IOTR_UNKNOWN;
	ret->device = 0;
	if (!sb || READ(struct super_block, sb, s_magic) == BDEVFS_MAGIC ||
	    is_btrfs_metadata(number_of(inode)))
		return;
	ret->address = inode;
	ret->inode = READ(struct inode, inode, i_ino);
	ret->device = device_of(number_of(inode), sb);
}

/* Sets the file whose pages a bio carries, or whose direct I/O it is; `by` is what bio_carries() says. */
static __always_inline void file_of_bio(struct bio *bio, __u64 by, struct bio_file *ret)
{
	__u64 inode = by == CARRIED_CACHE ? inode_of_pages(bio) : 0;

	if (by >= CARRIED_LAST)
		inode = ADDRESS(struct file, by, f_inode);
	file_of_inode(inode, ret);
	if (ret->address && by >= CARRIED_LAST)
		ret->open = by;
}

/* The positive errno that the kernel's blk_status_t stands for. */
static __always_inline __u32 status_errno(__u32 status)
{
	switch (status) {
	case 0:
		return 0;
	case 1: /* NOTSUPP */
		return 95;
	case 2: /* TIMEOUT */
		return 110;
	case 3: /* NOSPC */
		return 28;
	case 4: /* TRANSPORT */
		return 67;
	case 5: /* TARGET */
		return 121;
	case 6: /* RESV_CONFLICT */
		return 52;
	case 7: /* MEDIUM */
		return 61;
	case 8: /* PROTECTION */
		return 84;
	case 9: /* RESOURCE */
		return 12;
	case 12: /* AGAIN */
		return 11;
	default:
		return 5;
	}
}
