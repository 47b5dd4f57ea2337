// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/bio_ends.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cleanup.h"
#include "probes/member.h"

static const char *const symbols[IOTR_BIO_ENDS] = {
	[IOTR_BIO_CHAIN] = "bio_chain_endio",
	[IOTR_BIO_BUFFER] = "end_bio_bh_io_sync",
	[IOTR_BIO_DISK] = "blkdev_bio_end_io",
	[IOTR_BIO_DISK_ASYNC] = "blkdev_bio_end_io_async",
	[IOTR_BIO_DISK_SIMPLE] = "blkdev_bio_end_io_simple",
	[IOTR_BIO_IOMAP] = "iomap_dio_bio_end_io",
	[IOTR_BIO_DIO] = "dio_bio_end_io",
	[IOTR_BIO_DIO_ASYNC] = "dio_bio_end_aio",
	[IOTR_BIO_BTRFS] = "btrfs_simple_end_io",
	[IOTR_BIO_BTRFS_OLD] = "btrfs_end_bio",
	[IOTR_BIO_BTRFS_DIRECT] = "btrfs_dio_end_io",
	[IOTR_BIO_XFS_LOG] = "xlog_bio_end_io",
};

/* Reads "ffffffff81766530 T iomap_dio_bio_end_io", with the module's name at the end if any. The first match counts. */
static void line_take(uint64_t ends[static IOTR_BIO_ENDS], const char *line)
{
	char *rest, name[64];
	uint64_t address = strtoull(line, &rest, 16);

	if (sscanf(rest, " %*c %63s", name) != 1)
		return;
	for (size_t i = 0; i < IOTR_BIO_ENDS; i++)
		if (!ends[i] && !strcmp(name, symbols[i]))
			ends[i] = address;
}

static int members_find(const struct btf *btf, struct iotr_btrfs_bio *ret)
{
	int type = btf__find_by_name_kind(btf, "btrfs_bio", BTF_KIND_STRUCT);
	int end_io = type < 0 ? type : member_offset(btf, (uint32_t)type, "end_io", NULL);
	int private = type < 0 ? type : member_offset(btf, (uint32_t)type, "private", NULL);
	int bio = type < 0 ? type : member_offset(btf, (uint32_t)type, "bio", NULL);

	if (end_io < 0 || private < 0 || bio < 0)
		return -ENOENT;
	*ret = (struct iotr_btrfs_bio){
		.end_io = (uint32_t)end_io,
		.private = (uint32_t)private,
		.bio = (uint32_t)bio,
	};
	return 0;
}

/* Looks in the kernel's BTF, or in that of the module btrfs, which is split BTF on top of the kernel's. */
static int btrfs_find(const struct btf *kernel, struct iotr_btrfs_bio *ret)
{
	struct btf *module;
	int r = members_find(kernel, ret);

	if (r == 0)
		return 0;
	module = btf__load_module_btf("btrfs", (struct btf *)kernel);
	if (!module)
		return -ENOENT;
	r = members_find(module, ret);
	btf__free(module);
	return r;
}

static int loop_members_find(const struct btf *btf, struct iotr_loop_device *ret)
{
	int type = btf__find_by_name_kind(btf, "loop_device", BTF_KIND_STRUCT);
	int file = type < 0 ? type : member_offset(btf, (uint32_t)type, "lo_backing_file", NULL);
	int offset = type < 0 ? type : member_offset(btf, (uint32_t)type, "lo_offset", NULL);
	int flags = type < 0 ? type : member_offset(btf, (uint32_t)type, "lo_flags", NULL);

	if (file < 0 || offset < 0 || flags < 0)
		return -ENOENT;
	*ret = (struct iotr_loop_device){
		.file = (uint32_t)file,
		.offset = (uint32_t)offset,
		.flags = (uint32_t)flags,
	};
	return 0;
}

/* The same, for loop devices. Where the module's BTF is not known, they stay unknown. */
static void loop_find(const struct btf *kernel, struct iotr_loop_device *ret)
{
	struct btf *module;

	if (ret->file || loop_members_find(kernel, ret) == 0)
		return;
	module = btf__load_module_btf("loop", (struct btf *)kernel);
	if (module)
		loop_members_find(module, ret);
	btf__free(module);
}

uint64_t bio_ends_version(void)
{
	static const char *const modules[] = { "/sys/module/btrfs", "/sys/module/xfs", "/sys/module/loop" };
	uint64_t version = 0;
	struct stat about;

	for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++)
		version = iotr_mix(version, stat(modules[i], &about) < 0 ? 0 : about.st_ino);
	return version;
}

uint64_t bio_ends_find(const struct btf *kernel, struct iotr_control *page)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/kallsyms", "re");
	_cleanup_free_ char *line = NULL;
	uint64_t version = bio_ends_version(), ends[IOTR_BIO_ENDS] = { 0 };
	size_t size = 0;

	while (file && getline(&line, &size, file) > 0)
		line_take(ends, line);
	/* The address is set last, so that running programs never see it before the offsets of the members. */
	__atomic_store_n(&page->bio_ends[IOTR_BIO_BTRFS], 0, __ATOMIC_SEQ_CST);
	if (btrfs_find(kernel, &page->btrfs_bio) < 0)
		ends[IOTR_BIO_BTRFS] = 0;
	for (size_t i = 0; i < IOTR_BIO_ENDS; i++)
		__atomic_store_n(&page->bio_ends[i], ends[i], __ATOMIC_SEQ_CST);
	loop_find(kernel, &page->loop);
	return version;
}
