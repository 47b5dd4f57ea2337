// SPDX-License-Identifier: GPL-2.0-or-later
#include "cells/flags.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "suite.h"

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))

struct decoded {
	enum iotr_flag_kind kind;
	uint32_t file_flags;
	uint32_t flags;
	const char *text;
};

static const struct decoded calls[] = {
	{ IOTR_FLAGS_NONE, O_RDWR, 7, "" },
	{ IOTR_FLAGS_COUNT, 0, 1, "" },
	{ IOTR_FLAGS_OPEN, 0, O_RDONLY, "O_RDONLY" },
	{ IOTR_FLAGS_OPEN, 0, O_WRONLY | O_CREAT | O_TRUNC, "O_WRONLY|O_CREAT|O_TRUNC" },
	{ IOTR_FLAGS_OPEN, 0, O_RDWR | O_APPEND | O_NONBLOCK, "O_RDWR|O_APPEND|O_NONBLOCK" },
	{ IOTR_FLAGS_OPEN, 0, O_DSYNC, "O_RDONLY|O_DSYNC" },
	{ IOTR_FLAGS_OPEN, 0, O_SYNC, "O_RDONLY|O_SYNC" },
	{ IOTR_FLAGS_OPEN, 0, O_DIRECTORY | O_NOFOLLOW | O_PATH, "O_RDONLY|O_DIRECTORY|O_NOFOLLOW|O_PATH" },
	{ IOTR_FLAGS_OPEN, 0, O_TMPFILE | O_RDWR, "O_RDWR|O_TMPFILE" },
	{ IOTR_FLAGS_OPEN, 0, O_EXCL | O_NOCTTY | O_ASYNC | O_DIRECT | O_NOATIME | O_CLOEXEC,
	  "O_RDONLY|O_EXCL|O_NOCTTY|O_ASYNC|O_DIRECT|O_NOATIME|O_CLOEXEC" },
	{ IOTR_FLAGS_OPEN, 0, O_ACCMODE, "#0x3" },
	{ IOTR_FLAGS_OPEN, 0, 0x44000000, "O_RDONLY|#0x44000000" },
	{ IOTR_FLAGS_FILE, O_WRONLY | 0100000, 0, "O_WRONLY|O_LARGEFILE" },
	{ IOTR_FLAGS_FILE, O_RDONLY, 0x8, "O_RDONLY|RWF_NOWAIT" },
	{ IOTR_FLAGS_FILE, O_RDWR | 0x4000000, 0x10001, "O_RDWR|#0x4000000|RWF_HIPRI|#0x10000" },
	{ IOTR_FLAGS_AT, 0, 0, "NONE" },
	{ IOTR_FLAGS_AT, 0, AT_REMOVEDIR, "AT_REMOVEDIR" },
	{ IOTR_FLAGS_AT, 0, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH | 1,
	  "AT_SYMLINK_NOFOLLOW|AT_EMPTY_PATH|#0x1" },
	{ IOTR_FLAGS_RENAME, 0, 0, "NONE" },
	{ IOTR_FLAGS_RENAME, 0, 7, "RENAME_NOREPLACE|RENAME_EXCHANGE|RENAME_WHITEOUT" },
	{ IOTR_FLAGS_FALLOCATE, 0, 3, "FALLOC_FL_KEEP_SIZE|FALLOC_FL_PUNCH_HOLE" },
	{ IOTR_FLAGS_FALLOCATE, 0, 0, "NONE" },
	{ IOTR_FLAGS_SPLICE, 0, 15, "SPLICE_F_MOVE|SPLICE_F_NONBLOCK|SPLICE_F_MORE|SPLICE_F_GIFT" },
	{ IOTR_FLAGS_SQE, 0, 0, "NONE" },
	{ IOTR_FLAGS_SQE, 0, 0x8d, "IOSQE_FIXED_FILE|IOSQE_IO_LINK|IOSQE_IO_HARDLINK|#0x80" },
	{ IOTR_FLAGS_MSYNC, 0, 6, "MS_INVALIDATE|MS_SYNC" },
	{ IOTR_FLAGS_MADVISE, 0, 0, "MADV_NORMAL" },
	{ IOTR_FLAGS_MADVISE, 0, 4, "MADV_DONTNEED" },
	{ IOTR_FLAGS_MADVISE, 0, 25, "MADV_COLLAPSE" },
	{ IOTR_FLAGS_MADVISE, 0, 7, "#0x7" },
	{ IOTR_FLAGS_MREMAP, 0, 3, "MREMAP_MAYMOVE|MREMAP_FIXED" },
	{ IOTR_FLAGS_SYNC_RANGE, 0, 7, "SYNC_FILE_RANGE_WAIT_BEFORE|SYNC_FILE_RANGE_WRITE|"
				       "SYNC_FILE_RANGE_WAIT_AFTER" },
	{ IOTR_FLAGS_MSG, 0, 0, "NONE" },
	{ IOTR_FLAGS_MSG, 0, 0x4040, "MSG_DONTWAIT|MSG_NOSIGNAL" },
	{ IOTR_FLAGS_MSG, 0, 0x4180000, "MSG_ZEROCOPY|#0x180000" },
	{ IOTR_FLAGS_CLOSE_RANGE, 0, 6, "CLOSE_RANGE_UNSHARE|CLOSE_RANGE_CLOEXEC" },
	{ IOTR_FLAGS_EPOLL, 0, 0, "NONE" },
	{ IOTR_FLAGS_EPOLL, 0, 0x27ff, "EPOLLIN|EPOLLPRI|EPOLLOUT|EPOLLERR|EPOLLHUP|EPOLLNVAL|EPOLLRDNORM|"
				       "EPOLLRDBAND|EPOLLWRNORM|EPOLLWRBAND|EPOLLMSG|EPOLLRDHUP" },
	{ IOTR_FLAGS_EPOLL, 0, 0xf0000001, "EPOLLIN|EPOLLEXCLUSIVE|EPOLLWAKEUP|EPOLLONESHOT|EPOLLET" },
	{ IOTR_FLAGS_EPOLL, 0, 0x801004, "EPOLLOUT|#0x801000" },
};

static void check(const char *text, size_t length, const char *expected)
{
	char copy[FLAGS_TEXT_MAX + 1];

	ck_assert_uint_le(length, FLAGS_TEXT_MAX);
	snprintf(copy, sizeof(copy), "%.*s", (int)length, text);
	ck_assert_str_eq(copy, expected);
}

START_TEST(decodes_calls)
{
	const struct decoded *call = &calls[_i];
	char text[FLAGS_TEXT_MAX];

	check(text, flags_vfs(call->kind, call->file_flags, call->flags, text), call->text);
}
END_TEST

/* All bits of any value are named or in the hexadecimal rest, and the text fits into the buffer. */
START_TEST(fits_every_value)
{
	static const uint32_t values[] = { 0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0x12345678 };
	char text[FLAGS_TEXT_MAX];

	for (int i = 0; i < LENGTH(values); i++)
		for (int j = 0; j < LENGTH(values); j++)
			ck_assert_uint_le(flags_vfs((enum iotr_flag_kind)_i, values[i], values[j],
						    text), sizeof(text));
}
END_TEST

static const struct {
	uint32_t value;
	const char *protection;
	const char *mapping;
} mappings[] = {
	{ 0, "PROT_NONE", "NONE" },
	{ 1, "PROT_READ", "MAP_SHARED" },
	{ 2, "PROT_WRITE", "MAP_PRIVATE" },
	{ 3, "PROT_READ|PROT_WRITE", "MAP_SHARED_VALIDATE" },
	{ 5, "PROT_READ|PROT_EXEC", "#0x5" },
	{ 0x22, "PROT_WRITE|#0x20", "MAP_PRIVATE|MAP_ANONYMOUS" },
	{ 0x8012, "PROT_WRITE|#0x8010", "MAP_PRIVATE|MAP_FIXED|MAP_POPULATE" },
	{ 0x54040022, "PROT_WRITE|#0x54040020", "MAP_PRIVATE|MAP_ANONYMOUS|MAP_HUGETLB|#0x54000000" },
};

START_TEST(decodes_mappings)
{
	char text[FLAGS_TEXT_MAX];

	check(text, flags_protection(mappings[_i].value, text), mappings[_i].protection);
	check(text, flags_mapping(mappings[_i].value, text), mappings[_i].mapping);
}
END_TEST

START_TEST(decodes_block_bits)
{
	static const char *const bits[32] = { [11] = "SYNC", [17] = "FUA" };
	char text[FLAGS_TEXT_MAX];

	check(text, flags_block(1 << 11, text), "#0x800");
	flags_set_block_bits(bits);
	check(text, flags_block(0, text), "NONE");
	check(text, flags_block(1 << 11 | 1 << 17, text), "SYNC|FUA");
	check(text, flags_block(1 << 11 | 1U << 31 | 1 << 8, text), "SYNC|#0x80000100");
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_loop_test(tests, decodes_calls, 0, LENGTH(calls));
	tcase_add_loop_test(tests, fits_every_value, 0, IOTR_FLAGS_COUNT);
	tcase_add_loop_test(tests, decodes_mappings, 0, LENGTH(mappings));
	tcase_add_test(tests, decodes_block_bits);
}

int main(void)
{
	return run_suite("flags", add);
}
