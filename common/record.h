/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The records that BPF programs send to the daemon. Records of rows go through the row rings, those
 * of names through one ring of their own. A name is committed before the first row that refers to
 * it, so a consumer that meets an unknown name drains the name ring and then knows it.
 */
#pragma once

#include "events.h"

#define IOTR_COMMAND_SIZE   16
#define IOTR_NAME_TEXT_MAX  4096  /* bytes of one name record's text, NUL included */
#define IOTR_UNKNOWN	    (~0ULL) /* a number that is not known; its field in the row is empty */
#define IOTR_DIED	    517 /* in the place of an error number: the thread ended in the call, which returned nothing */
#define IOTR_DIRTIERS_MAX   64    /* processes that are told apart among those that made the pages of one write dirty */

/*
 * Every byte of a record is a member's, which a program sets, so that no other memory of the kernel gets out: a hole, or one
 * at the end, does not compile. `pad` fills them.
 */
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wpadded"

/* Head of the record of a row. */
struct iotr_record {
	__u16 size; /* of the whole record */
	__u8 stream; /* enum iotr_stream */
	__u8 operation; /* number within the stream */
	__u16 cpu;
	__u16 unread; /* 1: the row lacks an argument that the kernel read and the program could not */
	__u64 sessions; /* session mask: those that get the row */
	__u64 start_ns; /* CLOCK_MONOTONIC */
	__u64 latency_ns;
	__u64 cgroup_id;
	__u32 pid;
	__u32 tid;
	__u32 ppid;
	__u32 uid;
	char command[IOTR_COMMAND_SIZE];
};

/* The file that a row is about. */
struct iotr_file {
	__u64 name; /* id of a name record; 0: none */
	__u64 inode; /* IOTR_UNKNOWN: not known */
	__u32 device; /* major << 20 | minor; 0 when unknown */
	__u32 flags; /* f_flags of the open file */
};

/* How `flags` of a file system row are decoded, by the system call that made the row. */
enum iotr_flag_kind {
	IOTR_FLAGS_NONE,
	IOTR_FLAGS_FILE,  /* file.flags, then extra_flags as RWF_* */
	IOTR_FLAGS_OPEN,
	IOTR_FLAGS_AT,
	IOTR_FLAGS_RENAME,
	IOTR_FLAGS_FALLOCATE,
	IOTR_FLAGS_SPLICE,
	IOTR_FLAGS_MSYNC,
	IOTR_FLAGS_MADVISE, /* a value, not bits */
	IOTR_FLAGS_MREMAP,
	IOTR_FLAGS_SYNC_RANGE,
	IOTR_FLAGS_CLOSE_RANGE,
	IOTR_FLAGS_EPOLL,
	IOTR_FLAGS_SQE,
	IOTR_FLAGS_MSG,
	IOTR_FLAGS_ACCESS, /* the mode asked for, and AT_* */
	IOTR_FLAGS_XATTR,
	IOTR_FLAGS_FADVISE, /* a value, not bits */
	IOTR_FLAGS_FLOCK,
	IOTR_FLAGS_MOUNT,
	IOTR_FLAGS_MOVE_MOUNT,
	IOTR_FLAGS_UMOUNT,
	IOTR_FLAGS_OPEN_TREE,
	IOTR_FLAGS_MEMFD,
	IOTR_FLAGS_LOCK, /* F_* of fcntl, and IOTR_LOCK_TYPE() */
	IOTR_FLAGS_COUNT,
};

/* In IOTR_FLAGS_LOCK: the type of a lock, F_RDLCK, F_WRLCK or F_UNLCK, beside the command. */
#define IOTR_LOCK_TYPE(type) (((type) + 1U) << 16)

/* A row of the VFS stream. Numbers that a call does not have are IOTR_UNKNOWN, except `size`, see has_size. */
struct iotr_vfs_record {
	struct iotr_record head;
	struct iotr_file file;
	__u64 name2; /* second name of RENAME, LINK, SYMLINK, MOUNT; 0: none */
	__s64 result; /* return value, negative errno */
	__u64 flow; /* that rows of other streams have, too; 0: none has: see flow.h */
	__u64 size; /* valid when has_size */
	__u64 offset;
	__u64 address;
	__u32 flags; /* flags argument of the call, decoded as flag_kind says */
	__u32 protection; /* of a mapping, valid when has_mapping */
	__u32 mapping; /* flags of a mapping, valid when has_mapping */
	__s32 fd; /* valid when has_fd */
	__u8 flag_kind;
	__u8 has_fd;
	__u8 has_mapping;
	__u8 counts_bytes; /* bytes_completed is max(result, 0) */
	__u8 has_size;
	__u8 pad[3];
};

enum iotr_attribution {
	IOTR_ATTRIBUTION_UNKNOWN,
	IOTR_ATTRIBUTION_SUBMITTER,
	IOTR_ATTRIBUTION_DIRTIER,
	IOTR_ATTRIBUTION_SHARED,
	IOTR_ATTRIBUTION_JOURNAL,
	IOTR_ATTRIBUTION_METADATA,
};

/* A row of the BLOCK stream. head.latency_ns is from issue to completion. */
struct iotr_block_record {
	struct iotr_record head;
	__u64 sector; /* in units of 512 bytes, counted on the whole disk */
	__u64 size; /* bytes */
	__u64 queue_latency_ns; /* IOTR_UNKNOWN: never queued */
	__u64 inode; /* IOTR_UNKNOWN */
	__u64 name; /* of the open file or of the inode; 0: the last name known of the inode is used */
	__u64 request_id; /* below 2^53 */
	__u64 flow; /* of the call that caused it; 0: none is known */
	__u32 inode_device; /* device of the inode's file system, 0: unknown */
	__u32 device; /* partition or disk: major << 20 | minor */
	__u32 disk; /* whole disk */
	__u32 flags; /* the kernel's cmd_flags without the operation */
	__u32 error; /* positive errno */
	__u8 attribution; /* enum iotr_attribution */
	__u8 dirtiers; /* processes that made its pages dirty, IOTR_DIRTIERS_MAX + 1: more; 0: not known, or not such a request */
	__u8 pad[2];
};

#define IOTR_READY_MAX 8 /* descriptors of a wait that were ready, a power of two */

/* A row of the EPOLL stream. */
struct iotr_epoll_record {
	struct iotr_record head;
	__s64 result; /* return value, negative errno */
	__s64 timeout_ms; /* -1: for ever; valid when has_timeout */
	__s64 max_events; /* valid when waits */
	__u32 events; /* EPOLL*, valid when has_events */
	__s32 epoll_fd; /* valid when has_epoll */
	__s32 target_fd; /* valid when has_target */
	__s32 op; /* EPOLL_CTL_*, as the caller passed it */
	__s32 ready[IOTR_READY_MAX]; /* descriptors that were ready, valid up to ready_count */
	__u8 has_events;
	__u8 has_epoll;
	__u8 has_target;
	__u8 has_timeout;
	__u8 waits;
	__u8 ready_count; /* those of `result` that are known */
	__u8 pad[2];
};

#define IOTR_SOCKOPT_VALUE 64 /* bytes of an option's value that a row carries */

/* A row of the SOCKOPT stream. */
struct iotr_sockopt_record {
	struct iotr_record head;
	__s64 result; /* return value, negative errno */
	__s32 fd;
	__s32 level;
	__s32 option;
	__u32 length; /* bytes of the value, as passed or returned */
	__u8 value[IOTR_SOCKOPT_VALUE]; /* its first bytes, padded with zeros */
	__u8 size; /* bytes that are valid in `value` */
	__u8 compat; /* structures are those of the 32-bit ABI */
	__u8 pad[6];
};

/* A row of the DROP stream. Its head has the socket's owner as uid and names no process. */
struct iotr_drop_record {
	struct iotr_record head;
	__u8 source[16]; /* source and dest: addresses in network byte order, 4 bytes or 16 */
	__u8 dest[16];
	__u32 packet_size; /* bytes */
	__u32 segments; /* 0: not known */
	__u16 source_port;
	__u16 dest_port;
	__u8 version; /* of IP: 4 or 6; 0: neither */
	__u8 state; /* the kernel's TCP_* number */
	__u8 pad[2];
};

/* A row of the IOURING stream, whose operation is the opcode. Its first two members are those of a VFS row. */
struct iotr_iouring_record {
	struct iotr_record head;
	struct iotr_file file;
	__u64 name2; /* second name of RENAMEAT, LINKAT, SYMLINKAT; 0: none */
	__u64 offset; /* bytes; IOTR_UNKNOWN: none */
	__u64 length; /* bytes; IOTR_UNKNOWN: none */
	__u64 user_data;
	__u64 ring; /* number given to the ring when it is first seen; 0: unknown */
	__u64 flow; /* that rows of other streams have, too; 0: none has: see flow.h */
	__s32 result; /* negative errno */
	__s32 fd; /* valid when has_fd */
	__u8 has_fd;
	__u8 sqe_flags; /* IOSQE_* */
	__u8 async; /* 1: the kernel handed it to a worker thread */
	__u8 pad[5];
};

#define IOTR_UNIX_NAME 108 /* maximum length in bytes of a Unix socket's address */

/*
 * A socket and its two addresses. An IPv4 address is in the first four bytes. An address that is all
 * zero is not known, or there is none.
 */
struct iotr_socket {
	__u8 local[16];
	__u8 remote[16];
	__u16 local_port; /* host byte order, as remote_port */
	__u16 remote_port;
	__u8 family; /* AF_*, 0: not known */
	__u8 type; /* SOCK_* */
	__u16 protocol; /* IPPROTO_* */
};

/* A row of the NET stream. */
struct iotr_net_record {
	struct iotr_record head;
	struct iotr_socket socket;
	__u64 size; /* bytes asked for; IOTR_UNKNOWN: not known */
	__u64 bytes; /* bytes sent or received */
	__u32 flags; /* MSG_*, valid when has_flags */
	__u16 error; /* positive errno */
	__u8 has_flags;
	__u8 pad;
};

/* A row of the CONN stream. A CLOSE without latency closed many sockets at once, and has no result either. */
struct iotr_conn_record {
	struct iotr_record head;
	struct iotr_socket socket; /* its addresses */
	__s64 result; /* return value, negative errno */
	__s32 domain; /* AF_*; domain, type and protocol of the socket, or as asked for; valid when has_socket */
	__s32 type; /* SOCK_* */
	__s32 protocol; /* IPPROTO_*, -1: not known */
	__s32 fd; /* valid when has_fd */
	__s32 argument; /* `backlog` of LISTEN, `how` of SHUTDOWN */
	__u8 has_fd;
	__u8 local_length; /* bytes of local_name, which is as in sun_path; so is remote_length */
	__u8 remote_length;
	__u8 has_socket;
	char local_name[IOTR_UNIX_NAME];
	char remote_name[IOTR_UNIX_NAME];
};

/* A row of the CACHE stream. RECLAIM has only the count. */
struct iotr_cache_record {
	struct iotr_record head;
	struct iotr_file file;
	__u64 index; /* first page in the file; IOTR_UNKNOWN: not known */
	__u64 size;  /* of the file, in pages; IOTR_UNKNOWN: not known */
	__u64 count; /* pages */
	__u64 flow; /* of the call that it happened in; 0: none is known */
};

/* A row of the PAGEFAULT stream. */
struct iotr_pagefault_record {
	struct iotr_record head;
	struct iotr_file file;
	__u64 address;
	__u64 index; /* page in the file; IOTR_UNKNOWN: not known */
	__u8 write;
	__u8 major;
	__u8 pad[6];
};

/*
 * A name: one component of a path below the name `parent`, or a path without a parent when that is 0.
 * The same id is sent again, with the same meaning, when the kernel side has overwritten its mark.
 */
struct iotr_name_record {
	__u64 id;
	__u64 parent;
	__u64 inode; /* 0 for arguments */
	__u32 device;
	__u16 flags; /* IOTR_NAME_* */
	__u16 length; /* bytes of text */
	char fs_type[16]; /* NUL padded; "" for arguments */
	char text[]; /* length bytes, no NUL */
};

enum {
	IOTR_NAME_ARGUMENT = 1,	 /* text of a call's argument: a path of any number of components, or none */
	IOTR_NAME_DELETED = 2,	 /* the file has been unlinked */
	IOTR_NAME_DIRECTORY = 4,
	IOTR_NAME_CUT = 8,	 /* the walk upwards ended here at its limit: the parents are unknown */
};

/*
 * How long, in ns, a name that the daemon has forgotten can still be used by rows. What takes longer between its begin, when
 * its name is looked at, and its row looks again whether the name is known.
 */
#define IOTR_NAME_STAYS_NS 1000000

#define IOTR_NAME_LOST (~0ULL) /* instead of a name's id: its text could not be read, or the ring was full */

#pragma GCC diagnostic pop
