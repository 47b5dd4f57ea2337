// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/bio_ends.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include "cleanup.h"
#include "probes/member.h"
#include "probes/symbols.h"

enum { OVERLAY = IOTR_BIO_ENDS, SYMBOLS };

static const char *const symbols[SYMBOLS] = {
	[IOTR_BIO_CHAIN] = "bio_chain_endio",
	[IOTR_BIO_BUFFER] = "end_bio_bh_io_sync",
	[IOTR_BIO_DISK] = "blkdev_bio_end_io",
	[IOTR_BIO_DISK_ASYNC] = "blkdev_bio_end_io_async",
	[IOTR_BIO_DISK_SIMPLE] = "blkdev_bio_end_io_simple",
	[IOTR_BIO_IOMAP] = "iomap_dio_bio_end_io",
	[IOTR_BIO_IOMAP_SIMPLE] = "iomap_dio_simple_end_io",
	[IOTR_BIO_IOMAP_POOL] = "iomap_dio_simple_pool",
	[IOTR_BIO_DIO] = "dio_bio_end_io",
	[IOTR_BIO_DIO_ASYNC] = "dio_bio_end_aio",
	[IOTR_BIO_BTRFS] = "btrfs_simple_end_io",
	[IOTR_BIO_BTRFS_OLD] = "btrfs_end_bio",
	[IOTR_BIO_BTRFS_DIRECT] = "btrfs_dio_end_io",
	[IOTR_BIO_XFS_LOG] = "xlog_bio_end_io",
	[IOTR_BIO_XFS_BUFFER] = "xfs_buf_bio_end_io",
	[OVERLAY] = "ovl_fs_type", /* only kernels that have names for data tell it */
};

/* Members whose offsets programs are told, in the order in which they are; `offset` is where in the control page. */
struct member {
	const char *type, *name;
	size_t offset;
};

#define MEMBER(type, name, field) { #type, #name, offsetof(struct iotr_control, field) }

static const struct member btrfs_bio[] = {
	MEMBER(btrfs_bio, end_io, btrfs.end_io),
	MEMBER(btrfs_bio, private, btrfs.private),
	MEMBER(btrfs_bio, bio, btrfs.bio),
};

static const struct member btrfs_metadata[] = {
	MEMBER(extent_buffer, log_index, btrfs.log_index),
	MEMBER(btrfs_fs_info, generation, btrfs.generation),
};

static const struct member btrfs_subvolume[] = {
	MEMBER(btrfs_inode, vfs_inode, btrfs.inode),
	MEMBER(btrfs_inode, root, btrfs.root),
	MEMBER(btrfs_root, anon_dev, btrfs.anon_dev),
};

static const struct member loop[] = {
	MEMBER(loop_cmd, iocb, loop.command),
	MEMBER(loop_device, lo_offset, loop.offset),
	MEMBER(loop_device, lo_flags, loop.flags),
	MEMBER(loop_device, lo_backing_file, loop.file),
};

static const struct member fuse[] = {
	MEMBER(fuse_file, passthrough, stacking.passthrough),
};

static const struct member xfs[] = {
	MEMBER(xlog_in_core, ic_log, xfs.iclog_log),
	MEMBER(xlog, l_cilp, xfs.log_cil),
	MEMBER(xfs_cil, xc_current_sequence, xfs.cil_sequence),
	MEMBER(xlog_ticket, t_curr_res, xfs.ticket_left),
	MEMBER(xfs_mount, m_log, xfs.mount_log),
	MEMBER(xfs_buf, __b_map, xfs.buffer_block),
	MEMBER(xfs_buf_log_item, bli_buf, xfs.buffer_item_buffer),
	MEMBER(xfs_inode, i_itemp, xfs.inode_item),
	MEMBER(xfs_log_item, li_buf, xfs.item_buffer),
	MEMBER(xlog_ticket, t_unit_res, xfs.ticket_whole),
};

static const struct member ext4[] = {
	MEMBER(ext4_inode_info, i_sync_tid, ext4.sync_tid),
	MEMBER(ext4_inode_info, i_datasync_tid, ext4.datasync_tid),
	MEMBER(ext4_inode_info, vfs_inode, ext4.inode),
	MEMBER(ext4_sb_info, s_journal, ext4.journal),
};

static const struct member jbd2[] = {
	MEMBER(journal_s, j_running_transaction, jbd2.running),
	MEMBER(journal_s, j_committing_transaction, jbd2.committing),
	MEMBER(journal_s, j_commit_sequence, jbd2.committed),
};

enum { MEMBERS = sizeof(xfs) / sizeof(xfs[0]) }; /* of one group, at most */

enum { SUBVOLUME }; /* the first group */

/* What is told as a whole or not at all. Programs look at the last one to see whether it is. */
static const struct group {
	const char *module; /* which they are of where the kernel does not have it built in */
	const struct member *members;
	size_t count;
} groups[] = {
	[SUBVOLUME] = { "btrfs", btrfs_subvolume, sizeof(btrfs_subvolume) / sizeof(btrfs_subvolume[0]) },
	{ "btrfs", btrfs_bio, sizeof(btrfs_bio) / sizeof(btrfs_bio[0]) },
	{ "btrfs", btrfs_metadata, sizeof(btrfs_metadata) / sizeof(btrfs_metadata[0]) },
	{ "loop", loop, sizeof(loop) / sizeof(loop[0]) },
	{ "fuse", fuse, sizeof(fuse) / sizeof(fuse[0]) },
	{ "xfs", xfs, sizeof(xfs) / sizeof(xfs[0]) },
	{ "ext4", ext4, sizeof(ext4) / sizeof(ext4[0]) },
	{ "jbd2", jbd2, sizeof(jbd2) / sizeof(jbd2[0]) },
};

static int members_find(const struct btf *btf, const struct group *group, uint32_t offsets[static MEMBERS])
{
	for (size_t i = 0; i < group->count; i++) {
		int type = btf__find_by_name_kind(btf, group->members[i].type, BTF_KIND_STRUCT);
		int offset = type < 0 ? type : member_offset(btf, (uint32_t)type, group->members[i].name, NULL);

		if (offset < 0)
			return -ENOENT;
		offsets[i] = (uint32_t)offset;
	}
	return 0;
}

/* Looks in the kernel's BTF, or in that of the module, which is split BTF on top of the kernel's. */
static int group_find(const struct btf *kernel, const struct group *group, uint32_t offsets[static MEMBERS])
{
	struct btf *module;
	int r = members_find(kernel, group, offsets);

	if (r == 0)
		return 0;
	module = btf__load_module_btf(group->module, (struct btf *)kernel);
	if (!module)
		return -ENOENT;
	r = members_find(module, group, offsets);
	btf__free(module);
	return r;
}

static uint32_t *member_told(struct iotr_control *page, const struct member *member)
{
	return (uint32_t *)((char *)page + member->offset);
}

/* Offsets that are known already do not change. */
static void group_tell(const struct btf *kernel, const struct group *group, struct iotr_control *page)
{
	uint32_t offsets[MEMBERS];

	if (*member_told(page, &group->members[group->count - 1]) || group_find(kernel, group, offsets) < 0)
		return;
	for (size_t i = 0; i < group->count; i++)
		__atomic_store_n(member_told(page, &group->members[i]), offsets[i], __ATOMIC_SEQ_CST);
}

void subvolumes_find(const struct btf *kernel, struct iotr_control *page)
{
	group_tell(kernel, &groups[SUBVOLUME], page);
}

/* Never 0, which is that of a page that has nothing yet. */
static uint64_t modules_version(void)
{
	static const char *const modules[] = { "/sys/module/btrfs", "/sys/module/xfs", "/sys/module/loop", "/sys/module/ext4",
					       "/sys/module/jbd2", "/sys/module/overlay", "/sys/module/fuse" };
	uint64_t version = 0;
	struct stat about;

	for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++)
		version = iotr_mix(version, stat(modules[i], &about) < 0 ? 0 : about.st_ino);
	return version ?: 1;
}

bool bio_ends_known(const struct iotr_control *page)
{
	return page->bio_ends_version == modules_version();
}

void bio_ends_find(const struct btf *kernel, int kallsyms, struct iotr_control *page)
{
	uint64_t version = modules_version(), ends[SYMBOLS] = { 0 };

	symbols_find(kallsyms, symbols, SYMBOLS, ends);
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		group_tell(kernel, &groups[i], page);
	if (!page->btrfs.bio)
		ends[IOTR_BIO_BTRFS] = 0;
	__atomic_store_n(&page->stacking.overlay, ends[OVERLAY], __ATOMIC_SEQ_CST);
	/* The addresses are set last, so that running programs never see one before the offsets of the members. */
	for (size_t i = 0; i < IOTR_BIO_ENDS; i++)
		__atomic_store_n(&page->bio_ends[i], ends[i], __ATOMIC_SEQ_CST);
	__atomic_store_n(&page->bio_ends_version, version, __ATOMIC_SEQ_CST);
}
