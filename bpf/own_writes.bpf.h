/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a file system writes for itself, its log and its metadata, and for whom. */
#pragma once

#include "asked.bpf.h"
#include "blockdev.bpf.h"
#include "btrfs.bpf.h"
#include "xfs.bpf.h"

/* What a bio writes. */
enum own {
	OWN_NOTHING, /* something else */
	OWN_JBD2_LOG,
	OWN_XFS_LOG,
	OWN_XFS_BUFFER, /* metadata, of which XFS has buffers of its own */
	OWN_BTRFS_LOG,
	OWN_METADATA, /* in pages of the page cache */
};

static __always_inline bool own_is_log(__u32 own)
{
	return own == OWN_JBD2_LOG || own == OWN_XFS_LOG || own == OWN_BTRFS_LOG;
}

/* Whether what is written is of who made the pages dirty; otherwise own_cause() tells whose it is. */
static __always_inline bool own_by_pages(__u32 own)
{
	return own == OWN_BTRFS_LOG || own == OWN_METADATA;
}

/* What a bio of the current task writes, enum own. `inode`: that of a file whose pages it carries, 0: no file's. A global function. */
__noinline __u32 own_writes(__u64 bio, __u64 inode)
{
	__u32 meta = READ(struct bio, bio, bi_opf) >> bpf_core_enum_value(enum req_flag_bits, __REQ_META) & 1;
	struct iotr_control *page = control_page();
	__u64 whole = bio, end = page ? bio_whole(page, &whole) : 0;

	if (!page || inode)
		return meta ? OWN_METADATA : OWN_NOTHING;
	if (end && end == page->bio_ends[IOTR_BIO_XFS_LOG])
		return OWN_XFS_LOG;
	if (end && end == page->bio_ends[IOTR_BIO_XFS_BUFFER])
		return OWN_XFS_BUFFER;
	if (is_jbd2())
		return OWN_JBD2_LOG;
	inode = inode_of_pages((struct bio *)bio);
	if (is_btrfs_metadata(number_of(inode)))
		return btrfs_logs(page, page_folio(bio_first_page((struct bio *)bio))) ? OWN_BTRFS_LOG : OWN_METADATA;
	return meta || disk_is_held(inode) ? OWN_METADATA : OWN_NOTHING;
}

/* The number of the dirtier for whom a bio writes what is not in the page cache; 0: nobody is known. A global function. */
__noinline __u32 own_cause(__u64 bio, __u32 own)
{
	struct iotr_control *page = control_page();

	if (!page)
		return 0;
	if (own == OWN_JBD2_LOG)
		return journal_cause();
	bio_whole(page, &bio);
	if (own == OWN_XFS_LOG)
		return xfs_log_cause(page, bio);
	return own == OWN_XFS_BUFFER ? xfs_buffer_cause(page, bio) : 0;
}

/* ---- who asked for it ---- */

/* The key in `asked` of who asked for the transaction that the current task, which writes a journal of jbd2, commits; 0: nobody. */
static __always_inline __u64 journal_asked(void)
{
	__u32 tid = task_tid(current_task());
	struct committed *committed = bpf_map_lookup_elem(&commits, &tid);

	if (!committed || !asked_find(committed->journal, committed->number))
		return 0;
	return asked_key(committed->journal, committed->number);
}

/*
 * The key of who asked for what a bio of the current task is part of; 0: nobody is known. The thread of a journal writes data of
 * files, too, which have to be there before the transaction that they belong to. `own`: see own_writes(). A global function.
 */
__noinline __u64 own_asked(__u64 bio, __u32 own)
{
	struct iotr_control *page = control_page();
	__u64 log, sequence;

	if (!page)
		return 0;
	if (own == OWN_XFS_LOG) {
		bio_whole(page, &bio);
		log = xfs_log_of(page, bio);
		sequence = xfs_sequence(page, log);
		return sequence && asked_find(log, sequence - 1) ? asked_key(log, sequence - 1) : 0;
	}
	return own == OWN_JBD2_LOG || is_jbd2() ? journal_asked() : 0;
}
