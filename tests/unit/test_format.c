// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rows of every stream and format against tests/golden/STREAM.FORMAT; golden.h says how a new column, or one whose
 * text changes, gets into these.
 */
#include "format.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "golden.h"
#include "suite.h"

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))

#define HEAD(stream_id, operation_id, record_type)                                                 \
	.head = { .size = sizeof(struct record_type), .stream = IOTR_##stream_id,                  \
		  .operation = IOTR_##stream_id##_##operation_id, .cpu = 3,                        \
		  .start_ns = 86399999999999, .latency_ns = 1234, .cgroup_id = 77, .pid = 100,     \
		  .tid = 101, .ppid = 1, .uid = 1000, .command = "cat" }
#define VFS(operation_id) HEAD(VFS, operation_id, iotr_vfs_record)
#define BLOCK(operation_id) HEAD(BLOCK, operation_id, iotr_block_record)
#define EPOLL(operation_id) HEAD(EPOLL, operation_id, iotr_epoll_record)
#define SOCKOPT(operation_id) HEAD(SOCKOPT, operation_id, iotr_sockopt_record)
#define IOURING(operation_id) HEAD(IOURING, operation_id, iotr_iouring_record)
#define CACHE(operation_id) HEAD(CACHE, operation_id, iotr_cache_record)
#define PAGEFAULT(operation_id) HEAD(PAGEFAULT, operation_id, iotr_pagefault_record)
#define NOTHING .size = IOTR_UNKNOWN, .offset = IOTR_UNKNOWN, .address = IOTR_UNKNOWN
#define FILE_ID .file = { .inode = 4711, .device = 254 << 20 | 1, .flags = 0100000 }
#define NO_FILE .file = { .inode = IOTR_UNKNOWN }
#define PATH(bytes) .path = { bytes, sizeof(bytes) - 1 }
#define PATH2(bytes) .path2 = { bytes, sizeof(bytes) - 1 }

/* A record, and the names that go with it. */
struct named_row {
	union {
		struct iotr_record head;
		struct iotr_vfs_record vfs;
		struct iotr_block_record block;
		struct iotr_iouring_record iouring;
		struct iotr_cache_record cache;
		struct iotr_pagefault_record pagefault;
	} record;
	struct row_text path, path2;
	const char *fs_type; /* NULL: the row has none */
};

static const struct named_row vfs_rows[] = {
	{ .record.vfs = { VFS(READ), FILE_ID, .result = 4096, .size = 8192, .has_size = 1, .offset = 0, .address = IOTR_UNKNOWN,
	    .flag_kind = IOTR_FLAGS_FILE, .fd = 3, .has_fd = 1, .counts_bytes = 1 },
	  PATH("/home/user/file"), .fs_type = "ext4" },
	{ .record.vfs = { VFS(WRITE), FILE_ID, .result = -ENOSPC, .size = 1, .has_size = 1, .offset = 18446744073709551614ULL,
	    .address = IOTR_UNKNOWN, .flags = 2, .flag_kind = IOTR_FLAGS_FILE, .fd = 0,
	    .has_fd = 1, .counts_bytes = 1 },
	  PATH("/a\\x2c \\x22quoted\\x22 name"), .fs_type = "xfs" },
	{ .record.vfs = { VFS(OPEN), NO_FILE, .result = -ENOENT, NOTHING,
	    .flags = O_WRONLY | O_CREAT | O_CLOEXEC, .flag_kind = IOTR_FLAGS_OPEN },
	  PATH("/missing\\x0aname"), .fs_type = "" },
	{ .record.vfs = { VFS(SYNC), NO_FILE, NOTHING }, .fs_type = "" },
	{ .record.vfs = { VFS(CLOSE), .file = { .inode = 0, .device = 1 }, NOTHING, .fd = -1, .has_fd = 1 },
	  PATH("/home/user/file (deleted)"), .fs_type = "tmpfs" },
	{ .record.vfs = { VFS(MMAP), FILE_ID, .result = 0x7f0012345000, .size = 4096, .has_size = 1, .offset = 0,
	    .address = 0x7f0012345000, .protection = 5, .mapping = 2, .has_mapping = 1, .fd = 4,
	    .has_fd = 1 }, PATH("/lib/libc.so"), .fs_type = "ext4" },
	{ .record.vfs = { VFS(MMAP), NO_FILE, .result = -ENOMEM, .size = 4096, .has_size = 1, .offset = IOTR_UNKNOWN,
	    .address = 0, .has_mapping = 1 }, .fs_type = "" },
	{ .record.vfs = { VFS(MADVISE), FILE_ID, .size = 4096, .has_size = 1, .offset = 0, .address = 0x1000, .flags = 4,
	    .flag_kind = IOTR_FLAGS_MADVISE }, PATH("/data"), .fs_type = "ext4" },
	{ .record.vfs = { VFS(RENAME), FILE_ID, NOTHING, .name2 = 1, .flag_kind = IOTR_FLAGS_RENAME },
	  PATH("/old"), PATH2("/new"), .fs_type = "ext4" },
	{ .record.vfs = { VFS(LINK), FILE_ID, NOTHING, .name2 = 1, .flags = AT_SYMLINK_FOLLOW,
	    .flag_kind = IOTR_FLAGS_AT },
	  PATH("/old"), PATH2("/b\\x2cc"), .fs_type = "ext4" },
	{ .record.vfs = { VFS(SYMLINK), NO_FILE, NOTHING, .name2 = 1 }, PATH2("/new"), .fs_type = "" },
	{ .record.vfs = { VFS(RENAME), NO_FILE, .result = -EACCES, NOTHING }, .fs_type = "" },
	{ .record.vfs = { VFS(COPY_FILE_RANGE), FILE_ID, .result = 0, .size = 0, .has_size = 1, .offset = 0,
	    .address = IOTR_UNKNOWN, .flag_kind = IOTR_FLAGS_SPLICE, .counts_bytes = 1 },
	  PATH("/empty"), .fs_type = "ext4" },
	{ .record.vfs = { VFS(READ), FILE_ID, .result = 5, .size = 8192, .has_size = 1, .offset = 99999999,
	    .address = IOTR_UNKNOWN, .flag_kind = IOTR_FLAGS_FILE, .fd = 3, .has_fd = 1,
	    .counts_bytes = 1 }, PATH("/home/user/file"), .fs_type = "ext4" },
};

static const struct named_row block_rows[] = {
	{ .record.block = { BLOCK(READ), .sector = 2048, .size = 4096, .queue_latency_ns = 1, .inode = 4711,
	    .request_id = 7, .inode_device = 1, .device = 8 << 20 | 1, .disk = 8 << 20,
	    .attribution = IOTR_ATTRIBUTION_SUBMITTER }, PATH("/home/user/file") },
	{ .record.block = { BLOCK(WRITE), .sector = 8589934592, .size = 1048576, .queue_latency_ns = IOTR_UNKNOWN,
	    .inode = IOTR_UNKNOWN, .request_id = 0, .device = 259 << 20, .disk = 259 << 20,
	    .flags = 1 << 3 | 1 << 5, .error = EIO } },
	{ .record.block = { BLOCK(FLUSH), .sector = 0, .size = 0, .queue_latency_ns = 1000000,
	    .inode = IOTR_UNKNOWN, .request_id = 1, .device = 8 << 20, .disk = 4000U << 20,
	    .flags = 1 << 5 } },
	{ .record.block = { BLOCK(ZONE_RESET_ALL), .sector = IOTR_UNKNOWN, .queue_latency_ns = 999999999999,
	    .inode = 0, .attribution = 9 }, PATH("/b") },
};

static const struct iotr_epoll_record epoll_rows[] = {
	{ EPOLL(EPOLL_CREATE), .result = 5, .epoll_fd = 5, .has_epoll = 1 },
	{ EPOLL(EPOLL_CREATE), .result = -EMFILE },
	{ EPOLL(EPOLL_CTL), .epoll_fd = 5, .has_epoll = 1, .target_fd = 0, .has_target = 1, .op = 1,
	  .events = 0x80000001, .has_events = 1 },
	{ EPOLL(EPOLL_CTL), .epoll_fd = 5, .has_epoll = 1, .target_fd = 7, .has_target = 1, .op = 2 },
	{ EPOLL(EPOLL_CTL), .result = -EFAULT, .epoll_fd = 5, .has_epoll = 1, .target_fd = -1,
	  .has_target = 1, .op = 3 },
	{ EPOLL(EPOLL_CTL), .result = -EINVAL, .epoll_fd = -1, .has_epoll = 1, .target_fd = 7,
	  .has_target = 1, .op = 257, .has_events = 1 },
	{ EPOLL(EPOLL_CTL), .result = -EINVAL, .epoll_fd = 5, .has_epoll = 1, .op = 0 },
	{ EPOLL(EPOLL_WAIT), .result = 2, .waits = 1, .epoll_fd = 5, .has_epoll = 1, .max_events = 64,
	  .timeout_ms = -1, .has_timeout = 1, .events = 5, .has_events = 1 },
	{ EPOLL(EPOLL_WAIT), .result = -EINVAL, .waits = 1, .epoll_fd = 5, .has_epoll = 1,
	  .max_events = -1, .timeout_ms = 0, .has_timeout = 1 },
	{ EPOLL(POLL), .result = 0, .waits = 1, .target_fd = 3, .has_target = 1, .max_events = 1,
	  .timeout_ms = INT64_MAX, .has_timeout = 1, .events = 0, .has_events = 1 },
	{ EPOLL(POLL), .result = -EFAULT, .waits = 1, .max_events = 4294967295, .timeout_ms = -1 },
	{ EPOLL(SELECT), .result = 1, .waits = 1, .max_events = 1024, .timeout_ms = 1, .has_timeout = 1 },
};

static const struct iotr_sockopt_record sockopt_rows[] = {
	{ SOCKOPT(SET), .fd = 3, .level = 1, .option = 2, .length = 4, .value = { 1 }, .size = 4 },
	{ SOCKOPT(GET), .fd = 3, .level = 6, .option = 11, .length = 232, .value = { 1, 2, 0xff },
	  .size = 64 },
	{ SOCKOPT(GET), .result = -EBADF, .fd = -1, .level = 1, .option = 13 },
	{ SOCKOPT(SET), .fd = 3, .level = 1, .option = 13, .length = 8, .value = { 1, 0, 0, 0, 30 }, .size = 8 },
	{ SOCKOPT(SET), .result = -ENOENT, .fd = 3, .level = 6, .option = 13, .length = 5,
	  .value = "a,\"\n\xff", .size = 5 },
	{ SOCKOPT(SET), .result = -ENOPROTOOPT, .fd = 3, .level = -7, .option = 77777, .length = 2,
	  .value = { 5, 6 }, .size = 2 },
	{ SOCKOPT(SET), .result = -EFAULT, .fd = 3, .level = 41, .option = 26, .length = 4 },
};

/* Rows of drop have no process; the uid is that of the socket's owner. */
#define DROP                                                                                       \
	.head = { .size = sizeof(struct iotr_drop_record), .stream = IOTR_DROP,                    \
		  .operation = IOTR_DROP_TCP_RETRANSMIT, .cpu = 1, .start_ns = 86399999999999,     \
		  .cgroup_id = IOTR_UNKNOWN, .uid = 1000 }

static const struct iotr_drop_record drop_rows[] = {
	{ DROP, .version = 4, .source = { 10, 0, 0, 1 }, .dest = { 192, 0, 2, 255 }, .source_port = 40000,
	  .dest_port = 443, .state = 1, .packet_size = 1448, .segments = 1 },
	{ DROP, .version = 6, .source = { 0xfd, [15] = 1 }, .dest = { 0x20, 1, 0xd, 0xb8, [15] = 2 },
	  .source_port = 65535, .dest_port = 1, .state = 2 },
	{ DROP, .version = 6, .source = { [10] = 0xff, 0xff, 127, 0, 0, 1 },
	  .dest = { [10] = 0xff, 0xff, 127, 0, 0, 2 }, .source_port = 5, .dest_port = 6, .state = 12 },
	{ DROP, .version = 0, .state = 13, .packet_size = UINT32_MAX },
	{ DROP, .version = 6, .state = 0 },
};

static const struct named_row iouring_rows[] = {
	{ .record.iouring = { IOURING(READ), FILE_ID, .offset = 0, .length = 4096, .user_data = 0xdeadbeef,
	    .ring = 4097, .result = 4096, .fd = 3, .has_fd = 1 }, PATH("/home/user/file") },
	{ .record.iouring = { IOURING(NOP), NO_FILE, .offset = IOTR_UNKNOWN, .length = IOTR_UNKNOWN,
	    .user_data = UINT64_MAX, .result = -ECANCELED, .sqe_flags = 0xff, .async = 1 } },
	{ .record.iouring = { IOURING(RENAMEAT), NO_FILE, .offset = IOTR_UNKNOWN, .length = IOTR_UNKNOWN,
	    .ring = 1, .result = -ENOENT, .fd = -100, .has_fd = 1, .sqe_flags = 0x14 },
	  PATH("/old"), PATH2("/new") },
	{ .record.iouring = { IOURING(URING_CMD128), NO_FILE, .offset = 1, .length = 0, .ring = 1 } },
	{ .record.iouring = { IOURING(COUNT), NO_FILE, .offset = IOTR_UNKNOWN, .length = IOTR_UNKNOWN,
	    .ring = 1, .result = -EINVAL } },
};

#define NET(operation_id) HEAD(NET, operation_id, iotr_net_record)
#define CONN(operation_id) HEAD(CONN, operation_id, iotr_conn_record)
#define TCP4 .socket = { .local = { 10, 0, 0, 255 }, .remote = { 192, 168, 1, 20 }, .local_port = 65535, \
			 .remote_port = 80, .family = AF_INET, .type = SOCK_STREAM, .protocol = 6 }
#define UDP6 .family = AF_INET6, .type = SOCK_DGRAM, .protocol = 17
#define UNCONNECTED6 .socket = { .local = { 0x20, 1, 0xd, 0xb8, [15] = 1 }, .local_port = 53, UDP6 }
#define MAPPED6 .socket = { .remote = { [10] = 0xff, 0xff, 127, 0, 0, 1 }, .local_port = 53, \
			    .remote_port = 5353, UDP6 }
#define KIND(domain_, type_, protocol_) .has_socket = 1, .domain = domain_, .type = type_, .protocol = protocol_

static const struct iotr_net_record net_rows[] = {
	{ NET(SEND), TCP4, .size = 4096, .bytes = 1448, .flags = 0x4040, .has_flags = 1 },
	{ NET(RECEIVE), TCP4, .size = IOTR_UNKNOWN, .error = EAGAIN },
	{ NET(SEND), UNCONNECTED6, .size = 0, .has_flags = 1 },
	{ NET(RECEIVE), MAPPED6, .size = 9, .bytes = 9 },
	{ NET(SEND), .socket = { .local = { 127, 0, 0, 1 }, .remote = { 127, 0, 0, 2 }, .family = AF_INET,
	    .type = SOCK_RAW, .protocol = 253 }, .size = 1, .bytes = 1, .flags = 1U << 31, .has_flags = 1 },
	{ NET(RECEIVE), .socket = { .family = AF_INET, .type = SOCK_STREAM, .protocol = 262 },
	  .size = 1, .error = ENOTCONN, .has_flags = 1 },
};

static const struct iotr_conn_record conn_rows[] = {
	{ CONN(SOCKET_CREATE), KIND(99, 13, 1234), .result = -EINVAL },
	{ CONN(CONNECT), TCP4, KIND(AF_INET, SOCK_STREAM, 6), .fd = 3, .has_fd = 1, .result = -EINPROGRESS },
	{ CONN(LISTEN), .fd = -1, .has_fd = 1, .argument = -1, .result = -EBADF },
	{ CONN(SHUTDOWN), .socket = { .family = AF_UNIX }, KIND(AF_UNIX, SOCK_STREAM, 0), .has_fd = 1,
	  .argument = SHUT_RDWR, .local_name = "/a,\"b\"", .local_length = 7, .remote_name = "\0x\0y",
	  .remote_length = 4 },
	{ CONN(SHUTDOWN), KIND(AF_PACKET, SOCK_DGRAM, -1), .argument = 3, .result = -ENOTCONN },
	{ CONN(CLOSE), MAPPED6, KIND(AF_INET6, SOCK_DGRAM, 17), .fd = 4, .has_fd = 1 },
};

static const struct named_row cache_rows[] = {
	{ .record.cache = { CACHE(HIT), FILE_ID, .index = 3, .size = 9, .count = 6 }, PATH("/home/user/file") },
	{ .record.cache = { CACHE(RECLAIM), NO_FILE, .index = IOTR_UNKNOWN, .size = IOTR_UNKNOWN, .count = 32 } },
	{ .record.cache = { CACHE(WRITEBACK_END), .file = { .inode = IOTR_UNKNOWN, .device = 8 << 20 },
	    .index = 4503599627370495, .size = 0, .count = 0 } },
};

static const struct named_row pagefault_rows[] = {
	{ .record.pagefault = { PAGEFAULT(FAULT), FILE_ID, .address = 0x7f0012345678, .index = 3, .write = 1 },
	  PATH("/home/user/file") },
	{ .record.pagefault = { PAGEFAULT(FAULT), FILE_ID, .address = 0, .index = 0, .major = 1 }, PATH("/lib/libc.so") },
};

static struct cells cells;
static enum iotr_format format; /* the format that the test runs with */
static union format_state state;
static char actual[GOLDEN_SIZE];
static size_t actual_size;

static void begin(enum iotr_stream stream)
{
	static const char *const bits[32] = { [3] = "SYNC" };

	flags_set_block_bits(bits);
	cells_init(&cells);
	disks_init(&cells.disks, "/nonexistent");
	cells.disks.disks[8] = (struct disk){ 8 << 20, "sda", true };
	cells.disks.disks[(259 ^ 259 << 20) % DISKS_MAX] = (struct disk){ 259 << 20, "nvme0n1", true };
	cells.realtime_offset = 1700000000000000000;
	formats[format].init(&state, stream, NULL);
	actual_size = formats[format].header(stream, actual);
}

static void add_row(const struct row *row)
{
	struct cell cell[CELLS_MAX];
	size_t count, length;

	/* A cell that is not filled is noticed, as its kind is not valid. */
	memset(cell, 0xff, sizeof(cell));
	count = cells_fill(&cells, row, cell);
	ck_assert_uint_eq(count, iotr_schemas[row->record->stream].column_count);
	for (size_t i = 0; i < count; i++)
		ck_assert_msg(cell[i].kind < CELL_KIND_COUNT, "column %s is not filled",
			      iotr_schemas[row->record->stream].columns[i].name);
	length = formats[format].row(&state, &cells, row, actual + actual_size);
	ck_assert_uint_le(length, formats[format].bound(row, false));
	actual_size += length;
}

/*
 * A row whose record has 1 in every byte, so that whatever is added to the record is seen in the golden files with
 * a value, also before a row of its own tells more of it.
 */
static void add_row_of_ones(enum iotr_stream stream)
{
#define RECORD_SIZE(id, name, ...) [IOTR_##id] = sizeof(struct iotr_##name##_record),
	static const uint16_t sizes[] = { IOTR_STREAMS(RECORD_SIZE) };
	union {
		struct iotr_record head;
		char bytes[512];
	} record;
	struct row row = { .record = &record.head, .path = { "/ones", 5 }, .path2 = { "/ones2", 6 }, .fs_type = "ones" };

	ck_assert_uint_le(sizes[stream], sizeof(record));
	memset(&record, 1, sizeof(record));
	record.head.size = sizes[stream];
	record.head.stream = stream;
	add_row(&row);
}

/* Ends what begin() began. */
static void compare(enum iotr_stream stream)
{
	char ending[16];

	add_row_of_ones(stream);
	snprintf(ending, sizeof(ending), ".%s", iotr_format_names[format]);
	actual[actual_size] = '\0';
	golden_compare(stream, ending, actual);
}

/* All rows twice, so that texts which are kept from earlier rows are used, too. */
static void write_named(enum iotr_stream stream, const struct named_row *rows, int count)
{
	begin(stream);
	for (int i = 0; i < 2 * count; i++) {
		struct named_row from = rows[i % count];
		struct row row = { .record = &from.record.head, .path = from.path, .path2 = from.path2, .fs_type = from.fs_type ?: "" };

		from.record.head.start_ns += (uint64_t)i;
		add_row(&row);
	}
	compare(stream);
}

START_TEST(writes_vfs_rows)
{
	format = (enum iotr_format)_i;
	write_named(IOTR_VFS, vfs_rows, LENGTH(vfs_rows));
}
END_TEST

START_TEST(writes_cache_rows)
{
	format = (enum iotr_format)_i;
	write_named(IOTR_CACHE, cache_rows, LENGTH(cache_rows));
}
END_TEST

START_TEST(writes_pagefault_rows)
{
	format = (enum iotr_format)_i;
	write_named(IOTR_PAGEFAULT, pagefault_rows, LENGTH(pagefault_rows));
}
END_TEST

START_TEST(writes_block_rows)
{
	format = (enum iotr_format)_i;
	write_named(IOTR_BLOCK, block_rows, LENGTH(block_rows));
}
END_TEST

START_TEST(writes_iouring_rows)
{
	format = (enum iotr_format)_i;
	write_named(IOTR_IOURING, iouring_rows, LENGTH(iouring_rows));
}
END_TEST

/* Rows of a stream that has no paths, as an array of its records. */
static void write_plain(enum iotr_stream stream, const void *records, size_t size, int count)
{
	union {
		struct iotr_record head;
		char bytes[512];
	} record;
	struct row row = { .record = &record.head, .fs_type = "" };

	begin(stream);
	ck_assert_uint_le(size, sizeof(record));
	for (int i = 0; i < 2 * count; i++) {
		memcpy(&record, (const char *)records + (size_t)(i % count) * size, size);
		record.head.start_ns += (uint64_t)i;
		add_row(&row);
	}
	compare(stream);
}

START_TEST(writes_epoll_rows)
{
	format = (enum iotr_format)_i;
	write_plain(IOTR_EPOLL, epoll_rows, sizeof(epoll_rows[0]), LENGTH(epoll_rows));
}
END_TEST

START_TEST(writes_sockopt_rows)
{
	format = (enum iotr_format)_i;
	write_plain(IOTR_SOCKOPT, sockopt_rows, sizeof(sockopt_rows[0]), LENGTH(sockopt_rows));
}
END_TEST

START_TEST(writes_drop_rows)
{
	format = (enum iotr_format)_i;
	write_plain(IOTR_DROP, drop_rows, sizeof(drop_rows[0]), LENGTH(drop_rows));
}
END_TEST

START_TEST(writes_net_rows)
{
	format = (enum iotr_format)_i;
	write_plain(IOTR_NET, net_rows, sizeof(net_rows[0]), LENGTH(net_rows));
}
END_TEST

START_TEST(writes_conn_rows)
{
	format = (enum iotr_format)_i;
	write_plain(IOTR_CONN, conn_rows, sizeof(conn_rows[0]), LENGTH(conn_rows));
}
END_TEST

/* Names of Unix sockets that grow the most when they are escaped. */
START_TEST(bounds_unix_names)
{
	struct iotr_conn_record record = { CONN(BIND), KIND(-1, -1, INT32_MAX), .fd = INT32_MIN, .has_fd = 1,
					   .local_length = 255, .remote_length = 255 };
	struct row row = { .record = &record.head, .fs_type = "" };
	static const char bytes[] = { 1, '"' };

	format = (enum iotr_format)_i;
	for (int i = 0; i < LENGTH(bytes); i++) {
		memset(record.local_name, bytes[i], sizeof(record.local_name));
		memset(record.remote_name, bytes[i], sizeof(record.remote_name));
		begin(IOTR_CONN);
		add_row(&row);
	}
}
END_TEST

/* The longest possible row is no longer than bound() says. */
START_TEST(bounds_rows)
{
	static char path[NAMES_PATH_MAX], line[8 * NAMES_PATH_MAX];
	struct iotr_vfs_record record = {
		HEAD(VFS, RENAME, iotr_vfs_record), .file = { .inode = 1ULL << 63, .device = ~0U,
		.flags = ~0U }, .result = INT64_MIN, .size = 1ULL << 63, .has_size = 1, .offset = 1ULL << 63,
		.address = 1ULL << 63, .flags = ~0U, .protection = ~0U, .mapping = ~0U,
		.fd = INT32_MIN, .flag_kind = IOTR_FLAGS_FILE, .has_fd = 1, .has_mapping = 1,
		.counts_bytes = 1,
	};
	struct row row = { .record = &record.head, .path = { path, sizeof(path) },
			   .path2 = { path, sizeof(path) }, .fs_type = "0123456789abcdef" };

	format = (enum iotr_format)_i;
	begin(IOTR_VFS);
	memset(path, '\\', sizeof(path));
	memset(record.head.command, 1, sizeof(record.head.command));
	record.head.start_ns = 1ULL << 62;
	record.head.latency_ns = record.head.cgroup_id = 1ULL << 63;
	ck_assert_uint_le(formats[format].bound(&row, false), sizeof(line));
	for (int i = 0; i < 2; i++)
		ck_assert_uint_le(formats[format].row(&state, &cells, &row, line), formats[format].bound(&row, false));
}
END_TEST

/* A text is the same in CSV and in JSON; a value that is not known is null. */
START_TEST(writes_json_values)
{
	struct iotr_vfs_record record = vfs_rows[0].record.vfs;
	struct row row = { .record = &record.head, PATH("/a \\x22b\\x22\\x0a\\x2c \xc3\xa4"), .fs_type = "" };

	format = IOTR_FORMAT_JSONL;
	record.offset = 18446744073709551614ULL;
	begin(IOTR_VFS);
	ck_assert_uint_eq(actual_size, 0);
	add_row(&row);
	actual[actual_size] = '\0';
	ck_assert_ptr_nonnull(strstr(actual, "\"filename\":\"/a \\\\x22b\\\\x22\\\\x0a\\\\x2c \xc3\xa4\","));
	ck_assert_ptr_nonnull(strstr(actual, "\"offset\":-2,"));
	ck_assert_ptr_nonnull(strstr(actual, "\"mmap_prot\":null,"));
	ck_assert_ptr_nonnull(strstr(actual, "\"device\":\"254:001\","));
	ck_assert_ptr_nonnull(strstr(actual, "{\"timestamp\":\"2023-11-15 22:13:19.999999999\","));
	ck_assert_ptr_nonnull(strstr(actual, "\"mono_ns\":86399999999999}\n"));
}
END_TEST

START_TEST(shows_commands_as_they_are)
{
	static const char names[][IOTR_COMMAND_SIZE] = { "a,b", "x\"y", "\xff\n", "", "cat" };
	static const char *const expected[] = { "a\\x2cb", "x\\x22y", "\\xff\\x0a", "", "cat" };
	struct iotr_block_record record = block_rows[0].record.block;
	struct row row = { .record = &record.head, .fs_type = "" };

	begin(IOTR_BLOCK);
	for (int i = 0; i < 3 * LENGTH(names); i++) {
		char part[64];

		memcpy(record.head.command, names[i % LENGTH(names)], IOTR_COMMAND_SIZE);
		actual_size = 0;
		add_row(&row);
		actual[actual_size] = '\0';
		snprintf(part, sizeof(part), ",100,101,%s,2048,", expected[i % LENGTH(names)]);
		ck_assert_ptr_nonnull(strstr(actual, part));
	}
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_loop_test(tests, writes_vfs_rows, 0, IOTR_FORMAT_COUNT);
	tcase_add_loop_test(tests, writes_block_rows, 0, IOTR_FORMAT_COUNT);
	tcase_add_loop_test(tests, writes_epoll_rows, 0, IOTR_FORMAT_COUNT);
	tcase_add_loop_test(tests, writes_sockopt_rows, 0, IOTR_FORMAT_COUNT);
	tcase_add_loop_test(tests, writes_drop_rows, 0, IOTR_FORMAT_COUNT);
	tcase_add_loop_test(tests, writes_iouring_rows, 0, IOTR_FORMAT_COUNT);
	tcase_add_loop_test(tests, writes_net_rows, 0, IOTR_FORMAT_COUNT);
	tcase_add_loop_test(tests, writes_conn_rows, 0, IOTR_FORMAT_COUNT);
	tcase_add_loop_test(tests, bounds_unix_names, 0, IOTR_FORMAT_COUNT);
	tcase_add_loop_test(tests, writes_cache_rows, 0, IOTR_FORMAT_COUNT);
	tcase_add_loop_test(tests, writes_pagefault_rows, 0, IOTR_FORMAT_COUNT);
	tcase_add_loop_test(tests, bounds_rows, 0, IOTR_FORMAT_COUNT);
	tcase_add_test(tests, writes_json_values);
	tcase_add_test(tests, shows_commands_as_they_are);
}

int main(void)
{
	return run_suite("format", add);
}
