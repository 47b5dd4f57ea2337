// SPDX-License-Identifier: GPL-2.0-or-later
#include "flags.h"

#include <linux/eventpoll.h>
#include <linux/falloc.h>
#include <linux/fcntl.h>
#include <linux/mman.h>
#include <stdio.h>
#include <string.h>

/* One bit or several: the flag is set when the bits of `mask` have this value. */
struct flag {
	uint32_t mask;
	uint32_t value;
	const char *name;
};

struct flag_table {
	uint32_t values;	   /* bits that are one value and not flags; named first */
	const struct flag *flags;
	size_t count;
	const char *zero;	   /* name of 0 when no flag is named */
};

#define NOTHING "NONE" /* no flag at all; no digit, as that would be a number, and the column one of numbers */

#define BIT(bits, name)	   { (bits), (bits), name }
#define NAMED(flag)	   BIT(flag, #flag)
#define VALUE(mask, value) { (mask), (value), #value }
#define TABLE(array)	   .flags = array, .count = sizeof(array) / sizeof((array)[0])

/* Of two names that share bits, only the one with more bits is given. */
static const struct flag open_flags[] = {
	VALUE(O_ACCMODE, O_RDONLY), VALUE(O_ACCMODE, O_WRONLY), VALUE(O_ACCMODE, O_RDWR),
	NAMED(O_CREAT), NAMED(O_EXCL), NAMED(O_NOCTTY), NAMED(O_TRUNC), NAMED(O_APPEND),
	NAMED(O_NONBLOCK), { O_SYNC, O_DSYNC, "O_DSYNC" }, BIT(FASYNC, "O_ASYNC"), NAMED(O_DIRECT),
	NAMED(O_LARGEFILE), { O_TMPFILE, O_DIRECTORY, "O_DIRECTORY" }, NAMED(O_NOFOLLOW),
	NAMED(O_NOATIME), NAMED(O_CLOEXEC), NAMED(O_SYNC), NAMED(O_PATH), NAMED(O_TMPFILE),
};

static const struct flag rwf_flags[] = {
	BIT(0x01, "RWF_HIPRI"),	 BIT(0x02, "RWF_DSYNC"),    BIT(0x04, "RWF_SYNC"),
	BIT(0x08, "RWF_NOWAIT"), BIT(0x10, "RWF_APPEND"),   BIT(0x20, "RWF_NOAPPEND"),
	BIT(0x40, "RWF_ATOMIC"), BIT(0x80, "RWF_DONTCACHE"), BIT(0x100, "RWF_NOSIGNAL"),
};

static const struct flag at_flags[] = {
	BIT(0x100, "AT_SYMLINK_NOFOLLOW"), BIT(0x200, "AT_REMOVEDIR"),
	BIT(0x400, "AT_SYMLINK_FOLLOW"),   BIT(0x800, "AT_NO_AUTOMOUNT"),
	BIT(0x1000, "AT_EMPTY_PATH"),	   BIT(0x2000, "AT_STATX_FORCE_SYNC"),
	BIT(0x4000, "AT_STATX_DONT_SYNC"), BIT(0x8000, "AT_RECURSIVE"),
};

static const struct flag rename_flags[] = {
	BIT(1, "RENAME_NOREPLACE"), BIT(2, "RENAME_EXCHANGE"), BIT(4, "RENAME_WHITEOUT"),
};

static const struct flag fallocate_flags[] = {
	NAMED(FALLOC_FL_KEEP_SIZE),	 NAMED(FALLOC_FL_PUNCH_HOLE),
	NAMED(FALLOC_FL_NO_HIDE_STALE),	 NAMED(FALLOC_FL_COLLAPSE_RANGE),
	NAMED(FALLOC_FL_ZERO_RANGE),	 NAMED(FALLOC_FL_INSERT_RANGE),
	NAMED(FALLOC_FL_UNSHARE_RANGE),	 BIT(0x80, "FALLOC_FL_WRITE_ZEROES"),
};

static const struct flag splice_flags[] = {
	BIT(1, "SPLICE_F_MOVE"), BIT(2, "SPLICE_F_NONBLOCK"), BIT(4, "SPLICE_F_MORE"),
	BIT(8, "SPLICE_F_GIFT"),
};

static const struct flag msync_flags[] = { NAMED(MS_ASYNC), NAMED(MS_INVALIDATE), NAMED(MS_SYNC) };

static const struct flag mremap_flags[] = {
	NAMED(MREMAP_MAYMOVE), NAMED(MREMAP_FIXED), NAMED(MREMAP_DONTUNMAP),
};

static const struct flag sync_range_flags[] = {
	BIT(1, "SYNC_FILE_RANGE_WAIT_BEFORE"), BIT(2, "SYNC_FILE_RANGE_WRITE"),
	BIT(4, "SYNC_FILE_RANGE_WAIT_AFTER"),
};

static const struct flag close_range_flags[] = {
	BIT(2, "CLOSE_RANGE_UNSHARE"), BIT(4, "CLOSE_RANGE_CLOEXEC"),
};

#define ADVICE(number, name) { UINT32_MAX, (number), "MADV_" name }

static const struct flag advices[] = {
	ADVICE(0, "NORMAL"),	   ADVICE(1, "RANDOM"),	      ADVICE(2, "SEQUENTIAL"),
	ADVICE(3, "WILLNEED"),	   ADVICE(4, "DONTNEED"),     ADVICE(8, "FREE"),
	ADVICE(9, "REMOVE"),	   ADVICE(10, "DONTFORK"),    ADVICE(11, "DOFORK"),
	ADVICE(12, "MERGEABLE"),   ADVICE(13, "UNMERGEABLE"), ADVICE(14, "HUGEPAGE"),
	ADVICE(15, "NOHUGEPAGE"),  ADVICE(16, "DONTDUMP"),    ADVICE(17, "DODUMP"),
	ADVICE(18, "WIPEONFORK"),  ADVICE(19, "KEEPONFORK"),  ADVICE(20, "COLD"),
	ADVICE(21, "PAGEOUT"),	   ADVICE(22, "POPULATE_READ"), ADVICE(23, "POPULATE_WRITE"),
	ADVICE(24, "DONTNEED_LOCKED"), ADVICE(25, "COLLAPSE"), ADVICE(100, "HWPOISON"),
	ADVICE(101, "SOFT_OFFLINE"), ADVICE(102, "GUARD_INSTALL"), ADVICE(103, "GUARD_REMOVE"),
};

static const struct flag protection_flags[] = {
	NAMED(PROT_READ), NAMED(PROT_WRITE),	 NAMED(PROT_EXEC),
	NAMED(PROT_SEM),  NAMED(PROT_GROWSDOWN), NAMED(PROT_GROWSUP),
};

static const struct flag mapping_flags[] = {
	VALUE(MAP_TYPE, MAP_SHARED), VALUE(MAP_TYPE, MAP_PRIVATE),
	VALUE(MAP_TYPE, MAP_SHARED_VALIDATE), NAMED(MAP_FIXED), NAMED(MAP_ANONYMOUS),
#ifdef MAP_32BIT
	NAMED(MAP_32BIT),
#endif
	NAMED(MAP_GROWSDOWN), NAMED(MAP_DENYWRITE), NAMED(MAP_EXECUTABLE), NAMED(MAP_LOCKED),
	NAMED(MAP_NORESERVE), NAMED(MAP_POPULATE), NAMED(MAP_NONBLOCK), NAMED(MAP_STACK),
	NAMED(MAP_HUGETLB), NAMED(MAP_SYNC), NAMED(MAP_FIXED_NOREPLACE),
};

static const struct flag epoll_flags[] = {
	NAMED(EPOLLIN), NAMED(EPOLLPRI), NAMED(EPOLLOUT), NAMED(EPOLLERR), NAMED(EPOLLHUP),
	NAMED(EPOLLNVAL), NAMED(EPOLLRDNORM), NAMED(EPOLLRDBAND), NAMED(EPOLLWRNORM),
	NAMED(EPOLLWRBAND), NAMED(EPOLLMSG), NAMED(EPOLLRDHUP), NAMED(EPOLLEXCLUSIVE),
	NAMED(EPOLLWAKEUP), NAMED(EPOLLONESHOT), NAMED(EPOLLET),
};

static const struct flag sqe_flags[] = {
	BIT(0x01, "IOSQE_FIXED_FILE"),	  BIT(0x02, "IOSQE_IO_DRAIN"), BIT(0x04, "IOSQE_IO_LINK"),
	BIT(0x08, "IOSQE_IO_HARDLINK"),	  BIT(0x10, "IOSQE_ASYNC"),
	BIT(0x20, "IOSQE_BUFFER_SELECT"), BIT(0x40, "IOSQE_CQE_SKIP_SUCCESS"),
};

static const struct flag msg_flags[] = {
	BIT(0x1, "MSG_OOB"),		  BIT(0x2, "MSG_PEEK"),	      BIT(0x4, "MSG_DONTROUTE"),
	BIT(0x8, "MSG_CTRUNC"),		  BIT(0x10, "MSG_PROBE"),     BIT(0x20, "MSG_TRUNC"),
	BIT(0x40, "MSG_DONTWAIT"),	  BIT(0x80, "MSG_EOR"),	      BIT(0x100, "MSG_WAITALL"),
	BIT(0x200, "MSG_FIN"),		  BIT(0x400, "MSG_SYN"),      BIT(0x800, "MSG_CONFIRM"),
	BIT(0x1000, "MSG_RST"),		  BIT(0x2000, "MSG_ERRQUEUE"), BIT(0x4000, "MSG_NOSIGNAL"),
	BIT(0x8000, "MSG_MORE"),	  BIT(0x10000, "MSG_WAITFORONE"), BIT(0x40000, "MSG_BATCH"),
	BIT(0x2000000, "MSG_SOCK_DEVMEM"), BIT(0x4000000, "MSG_ZEROCOPY"),
	BIT(0x20000000, "MSG_FASTOPEN"),  BIT(0x40000000, "MSG_CMSG_CLOEXEC"),
};

/* The mode of access(2), then flags of faccessat2(2). */
static const struct flag access_flags[] = {
	{ 7, 0, "F_OK" }, BIT(4, "R_OK"), BIT(2, "W_OK"), BIT(1, "X_OK"),
	BIT(0x100, "AT_SYMLINK_NOFOLLOW"), BIT(0x200, "AT_EACCESS"), BIT(0x1000, "AT_EMPTY_PATH"),
};

static const struct flag xattr_flags[] = {
	BIT(1, "XATTR_CREATE"), BIT(2, "XATTR_REPLACE"),
	BIT(0x100, "AT_SYMLINK_NOFOLLOW"), BIT(0x1000, "AT_EMPTY_PATH"),
};

#define FADVICE(number, name) { UINT32_MAX, (number), "POSIX_FADV_" name }

static const struct flag file_advices[] = {
	FADVICE(0, "NORMAL"),	FADVICE(1, "RANDOM"),	FADVICE(2, "SEQUENTIAL"),
	FADVICE(3, "WILLNEED"), FADVICE(4, "DONTNEED"), FADVICE(5, "NOREUSE"),
};

static const struct flag flock_flags[] = {
	BIT(1, "LOCK_SH"),    BIT(2, "LOCK_EX"),    BIT(8, "LOCK_UN"),	  BIT(4, "LOCK_NB"),
	BIT(32, "LOCK_MAND"), BIT(64, "LOCK_READ"), BIT(128, "LOCK_WRITE"),
};

#define MOUNT_MAGIC_MASK 0xffff0000 /* a magic number with which mount(2) once had to be called, and still may be */
#define MOUNT_MAGIC	 0xc0ed0000

static const struct flag mount_flags[] = {
	BIT(1 << 0, "MS_RDONLY"),	BIT(1 << 1, "MS_NOSUID"),	BIT(1 << 2, "MS_NODEV"),
	BIT(1 << 3, "MS_NOEXEC"),	BIT(1 << 4, "MS_SYNCHRONOUS"),	BIT(1 << 5, "MS_REMOUNT"),
	BIT(1 << 6, "MS_MANDLOCK"),	BIT(1 << 7, "MS_DIRSYNC"),	BIT(1 << 8, "MS_NOSYMFOLLOW"),
	BIT(1 << 10, "MS_NOATIME"),	BIT(1 << 11, "MS_NODIRATIME"),	BIT(1 << 12, "MS_BIND"),
	BIT(1 << 13, "MS_MOVE"),	BIT(1 << 14, "MS_REC"),		BIT(1 << 15, "MS_SILENT"),
	BIT(1 << 16, "MS_POSIXACL"),	BIT(1 << 17, "MS_UNBINDABLE"),	BIT(1 << 18, "MS_PRIVATE"),
	BIT(1 << 19, "MS_SLAVE"),	BIT(1 << 20, "MS_SHARED"),	BIT(1 << 21, "MS_RELATIME"),
	BIT(1 << 23, "MS_I_VERSION"),	BIT(1 << 24, "MS_STRICTATIME"), BIT(1 << 25, "MS_LAZYTIME"),
};

static const struct flag move_mount_flags[] = {
	BIT(0x01, "MOVE_MOUNT_F_SYMLINKS"),   BIT(0x02, "MOVE_MOUNT_F_AUTOMOUNTS"),
	BIT(0x04, "MOVE_MOUNT_F_EMPTY_PATH"), BIT(0x10, "MOVE_MOUNT_T_SYMLINKS"),
	BIT(0x20, "MOVE_MOUNT_T_AUTOMOUNTS"), BIT(0x40, "MOVE_MOUNT_T_EMPTY_PATH"),
	BIT(0x100, "MOVE_MOUNT_SET_GROUP"),   BIT(0x200, "MOVE_MOUNT_BENEATH"),
};

static const struct flag umount_flags[] = {
	BIT(1, "MNT_FORCE"), BIT(2, "MNT_DETACH"), BIT(4, "MNT_EXPIRE"), BIT(8, "UMOUNT_NOFOLLOW"),
};

static const struct flag open_tree_flags[] = {
	BIT(1, "OPEN_TREE_CLONE"),	   BIT(O_CLOEXEC, "OPEN_TREE_CLOEXEC"),
	BIT(0x100, "AT_SYMLINK_NOFOLLOW"), BIT(0x800, "AT_NO_AUTOMOUNT"),
	BIT(0x1000, "AT_EMPTY_PATH"),	   BIT(0x8000, "AT_RECURSIVE"),
};

static const struct flag memfd_flags[] = {
	BIT(0x01, "MFD_CLOEXEC"),     BIT(0x02, "MFD_ALLOW_SEALING"), BIT(0x04, "MFD_HUGETLB"),
	BIT(0x08, "MFD_NOEXEC_SEAL"), BIT(0x10, "MFD_EXEC"),
};

#define LOCK_COMMAND(name) { UINT16_MAX, (name), #name }
#define LOCK_TYPE(name)	   { ~(uint32_t)UINT16_MAX, IOTR_LOCK_TYPE(name), #name }

static const struct flag lock_flags[] = {
	LOCK_COMMAND(F_GETLK),	   LOCK_COMMAND(F_SETLK),     LOCK_COMMAND(F_SETLKW),
	LOCK_COMMAND(F_OFD_GETLK), LOCK_COMMAND(F_OFD_SETLK), LOCK_COMMAND(F_OFD_SETLKW),
	LOCK_TYPE(F_RDLCK),	   LOCK_TYPE(F_WRLCK),	      LOCK_TYPE(F_UNLCK),
};

static const struct flag_table tables[IOTR_FLAGS_COUNT] = {
	[IOTR_FLAGS_FILE] = { TABLE(open_flags), .values = O_ACCMODE },
	[IOTR_FLAGS_OPEN] = { TABLE(open_flags), .values = O_ACCMODE },
	[IOTR_FLAGS_AT] = { TABLE(at_flags), .zero = NOTHING },
	[IOTR_FLAGS_RENAME] = { TABLE(rename_flags), .zero = NOTHING },
	[IOTR_FLAGS_FALLOCATE] = { TABLE(fallocate_flags), .zero = NOTHING },
	[IOTR_FLAGS_SPLICE] = { TABLE(splice_flags), .zero = NOTHING },
	[IOTR_FLAGS_MSYNC] = { TABLE(msync_flags), .zero = NOTHING },
	[IOTR_FLAGS_MADVISE] = { TABLE(advices), .values = UINT32_MAX },
	[IOTR_FLAGS_MREMAP] = { TABLE(mremap_flags), .zero = NOTHING },
	[IOTR_FLAGS_SYNC_RANGE] = { TABLE(sync_range_flags), .zero = NOTHING },
	[IOTR_FLAGS_CLOSE_RANGE] = { TABLE(close_range_flags), .zero = NOTHING },
	[IOTR_FLAGS_EPOLL] = { TABLE(epoll_flags), .zero = NOTHING },
	[IOTR_FLAGS_SQE] = { TABLE(sqe_flags), .zero = NOTHING },
	[IOTR_FLAGS_MSG] = { TABLE(msg_flags), .zero = NOTHING },
	[IOTR_FLAGS_ACCESS] = { TABLE(access_flags) },
	[IOTR_FLAGS_XATTR] = { TABLE(xattr_flags), .zero = NOTHING },
	[IOTR_FLAGS_FADVISE] = { TABLE(file_advices), .values = UINT32_MAX },
	[IOTR_FLAGS_FLOCK] = { TABLE(flock_flags), .zero = NOTHING },
	[IOTR_FLAGS_MOUNT] = { TABLE(mount_flags), .zero = NOTHING },
	[IOTR_FLAGS_MOVE_MOUNT] = { TABLE(move_mount_flags), .zero = NOTHING },
	[IOTR_FLAGS_UMOUNT] = { TABLE(umount_flags), .zero = NOTHING },
	[IOTR_FLAGS_OPEN_TREE] = { TABLE(open_tree_flags), .zero = NOTHING },
	[IOTR_FLAGS_MEMFD] = { TABLE(memfd_flags), .zero = NOTHING },
	[IOTR_FLAGS_LOCK] = { TABLE(lock_flags) },
};

static const struct flag_table rwf_table = { TABLE(rwf_flags), .zero = NOTHING };
static const struct flag_table protection_table = { TABLE(protection_flags), .zero = "PROT_NONE" };
static const struct flag_table mapping_table = { TABLE(mapping_flags), .values = MAP_TYPE,
						 .zero = NOTHING };

/* Appends to `text`, with a '|' between, and returns the new length. */
static size_t append(char *text, size_t length, const char *name)
{
	size_t more = strlen(name);

	if (length)
		text[length++] = '|';
	memcpy(text + length, name, more);
	return length + more;
}

static size_t append_hex(char *text, size_t length, uint32_t bits)
{
	char hex[16];

	snprintf(hex, sizeof(hex), "#0x%x", bits);
	return append(text, length, hex);
}

static size_t decode(const struct flag_table *table, uint32_t flags, char *text)
{
	uint32_t left = flags & ~table->values, unnamed = flags & table->values;
	size_t length = 0;

	if (!flags && table->zero)
		return append(text, 0, table->zero);
	for (const struct flag *flag = table->flags; flag < table->flags + table->count; flag++) {
		if ((flags & flag->mask) != flag->value)
			continue;
		length = append(text, length, flag->name);
		left &= ~flag->value;
		if (flag->mask == table->values)
			unnamed = 0;
	}
	return left | unnamed ? append_hex(text, length, left | unnamed) : length;
}

size_t flags_vfs(enum iotr_flag_kind kind, uint32_t file_flags, uint32_t flags, char *text)
{
	size_t length;

	if (kind <= IOTR_FLAGS_NONE || kind >= IOTR_FLAGS_COUNT)
		return 0;
	if (kind == IOTR_FLAGS_MOUNT && (flags & MOUNT_MAGIC_MASK) == MOUNT_MAGIC)
		flags &= ~MOUNT_MAGIC_MASK;
	if (kind != IOTR_FLAGS_FILE)
		return decode(&tables[kind], flags, text);
	length = decode(&tables[kind], file_flags, text);
	if (!flags)
		return length;
	text[length++] = '|';
	return length + decode(&rwf_table, flags, text + length);
}

size_t flags_protection(uint32_t protection, char *text)
{
	return decode(&protection_table, protection, text);
}

size_t flags_mapping(uint32_t mapping, char *text)
{
	return decode(&mapping_table, mapping, text);
}

static const char *const *block_bits;

void flags_set_block_bits(const char *const names[32])
{
	block_bits = names;
}

size_t flags_block(uint32_t flags, char *text)
{
	uint32_t unnamed = 0;
	size_t length = 0;

	for (uint32_t left = flags; left; left &= left - 1) {
		int bit = __builtin_ctz(left);

		if (block_bits && block_bits[bit])
			length = append(text, length, block_bits[bit]);
		else
			unnamed |= 1U << bit;
	}
	if (!flags)
		return append(text, 0, NOTHING);
	return unnamed ? append_hex(text, length, unnamed) : length;
}
