/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fields read that changed between 5.10 and today: what each became, with which commit and version, and how it was
 * before. A macro says whether the running kernel has the change, which is settled when a program is loaded. A layout
 * that not all kernels have is a flavour: CO-RE ignores the suffix after three underscores, the number of a kernel that
 * has it. Fields that kernels have or lack by their configuration are not here.
 */
#pragma once

#include "kernel.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* ---- file systems ---- */

/* A list_head of mounts became a chain: 09a1b33c080f ("preparations to taking MNT_WRITE_HOLD out of ->mnt_flags"), 6.18. */
#define HAS_MOUNT_CHAIN bpf_core_field_exists(struct mount, mnt_next_for_sb)

struct super_block___612 {
	struct list_head s_mounts;
};

struct mount___612 {
	struct list_head mnt_instance;
};

/* The union d_u lost its name: 2420067cecac ("struct dentry: make ->d_u anonymous"), 7.1. */
#define HAS_DENTRY_ALIAS bpf_core_field_exists(struct dentry, d_alias)

struct dentry___612 {
	union {
		struct hlist_node d_alias;
	} d_u;
};

/*
 * f_path of a backing file, and real_path beside it, became user_path and f_path:
 * def3ae83da02 ("fs: store real path instead of fake path in backing file f_path"), 6.7.
 */
#define HAS_USER_PATH bpf_core_field_exists(struct backing_file, user_path)

/* ---- memory ---- */

/* A red-black tree of VMAs became a maple tree: 524e00b36e8c ("mm: remove rb tree"), 6.1. */
#define HAS_MAPLE_TREE bpf_core_type_exists(struct maple_arange_64)

struct mm_struct___610 {
	struct maple_tree mm_mt;
};

struct mm_struct___510 {
	struct rb_root mm_rb;
};

struct vm_area_struct___510 {
	struct rb_node vm_rb;
};

/* A compound page became a folio: 7b230db3b8d3 ("mm: Introduce struct folio"), 5.16. */
#define HAS_FOLIO bpf_core_type_exists(struct folio)

struct page___510 {
	unsigned long index;
	unsigned int compound_nr; /* in the second page */
};

/*
 * compound_head became compound_info, which may be a mask for the address of a tail page instead of that of its head page:
 * "mm: rework compound_head() for power-of-2 sizeof(struct page)", 7.1.
 */
#define HAS_COMPOUND_INFO bpf_core_field_exists(struct page___71, compound_info)

struct page___71 {
	unsigned long compound_info;
};

/* _folio_nr_pages was renamed: 4996fc547f5b ("mm: let _folio_nr_pages overlay memcg_data in first tail page"), 6.15. */
#define HAS_NR_PAGES bpf_core_field_exists(struct folio, _nr_pages)

struct folio___612 {
	unsigned int _folio_nr_pages;
};

/* Resident pages are counted per CPU: f1a7941243c1 ("mm: convert mm's rss stats into percpu_counter"), 6.2. */
#define HAS_RSS_PER_CPU (!bpf_core_type_exists(struct mm_rss_stat___510))

struct mm_rss_stat___510 {
	struct {
		long counter;
	} count[4];
};

struct mm_struct___tasks510 {
	struct mm_rss_stat___510 rss_stat;
};

/* ---- tasks ---- */

/* `state` was renamed: 2f064a59a11f ("sched: Change task_struct::state"), 5.14. */
#define HAS_TASK_STATE(task) bpf_core_field_exists((task)->__state)

struct task_struct___tasks510 {
	long state;
	struct mm_struct___tasks510 *mm;
};

/* ---- block devices ---- */

/* A partition became a block_device: 0d02129e76ed ("block: merge struct block_device and struct hd_struct"), 5.11. */
struct hd_struct___510 {
	struct device __dev;
};

/*
 * bi_disk became bi_bdev: 309dca309fc3 ("block: store a block_device pointer in struct bio"), 5.12. It stands for the
 * one before, too, as 5.11 is not maintained.
 */
#define HAS_BIO_DEVICE bpf_core_field_exists(struct bio, bi_bdev)

struct bio___510 {
	struct gendisk *bi_disk;
};

/* bi_bvec_done, bytes of the current vector that are done, was renamed in 7.3. */
#define HAS_BVEC_OFFSET bpf_core_field_exists(struct bvec_iter___73, bi_offset)

struct bvec_iter___73 {
	unsigned int bi_offset;
};

struct bio___73 {
	struct bvec_iter___73 bi_iter;
};

/* The queue has the disk: d152c682f03c ("block: add an explicit ->disk backpointer to the request_queue"), 5.15. */
#define HAS_QUEUE_DISK bpf_core_field_exists(struct request_queue, disk)

struct request___510 {
	struct gendisk *rq_disk;
	struct hd_struct___510 *part;
};

/* ---- io_uring ---- */

/*
 * user_data became a part of cqe: cef216fc32d7 ("io_uring: explicitly keep a CQE in io_kiocb"), 5.19. Kernels that
 * have it also name the request where they tell of its completion, and tell of it in a thread, never in an interrupt.
 */
#define HAS_REQUEST_CQE bpf_core_field_exists(struct io_kiocb, cqe)

struct io_kiocb___510 {
	__u64 user_data;
};

/* RWF_ flags have a field: 584b0180f0f4 ("io_uring: move read/write file prep state into actual opcode handler"), 5.19. */
#define HAS_RW_FLAGS bpf_core_field_exists(struct io_rw, flags)

/* As has a message's ioprio: 0455d4ccec54 ("io_uring: add POLL_FIRST support for send/sendmsg and recv/recvmsg"), 5.19. */
#define HAS_MESSAGE_FLAGS bpf_core_field_exists(struct io_sr_msg, flags)

#pragma clang attribute pop
