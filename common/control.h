/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What daemon and BPF share besides the records: the control page (session masks, filters, the
 * table of system calls) and the keys of the maps. The daemon writes the page through mmap while
 * programs run; every field is read once per event and stands on its own.
 */
#pragma once

#include "events.h"
#include "mix.h"
#include "record.h"

#define IOTR_SESSION_SLOTS 64
#define IOTR_CALLS	   512 /* system call numbers per ABI */
#define IOTR_SLOTS	   16384 /* calls under way, two-way associative by thread; a power of two */
#define IOTR_PLUGGED	   4096 /* the same, of all streams but VFS; a power of two */
#define IOTR_KNOWN	   131072 /* marks of names that were sent; a power of two */
#define IOTR_REQUESTS	   8192 /* block requests under way */
#define IOTR_BIOS	   8192 /* bios under way */
#define IOTR_MAPPINGS	   16384 /* file mappings remembered for MUNMAP and its like */
#define IOTR_FILTER_KEYS   16384 /* processes of all sessions, with their descendants */
#define IOTR_FILTER_NAMES  4096 /* values of any other filter over all sessions */
#define IOTR_ASYNC	   8192 /* libaio and io_uring operations under way */
#define IOTR_URING	   4096 /* io_uring requests under way, of its own stream, and of sockets */
#define IOTR_CONNECTING	   4096 /* TCP connections that are being made */
#define IOTR_CLOSING	   256 /* Unix sockets that are being closed */
#define IOTR_CGROUPS	   4096 /* cgroups whose place was looked up and is remembered; a power of two */
#define IOTR_CGROUP_LEVELS 64 /* cgroups above one that are looked at */
#define IOTR_UNITS	   1024 /* names of units over all sessions */
#define IOTR_PATH_NODES	   4096 /* folders on the way to path filters, and those; a power of two */
#define IOTR_PATH_LEVELS   64 /* folders above a file, or parts of a path, that are looked at */
#define IOTR_HINTS	   4096 /* of a kind of filter; a power of two */

enum iotr_abi {
	IOTR_ABI_NATIVE,
	IOTR_ABI_COMPAT, /* 32-bit calls on a 64-bit kernel */
	IOTR_ABI_COUNT,
};

/* Kinds of filter: control.filtered[kind] has the sessions that use it. */
enum iotr_filter {
	IOTR_FILTER_PID,
	IOTR_FILTER_COMMAND,
	IOTR_FILTER_UID,
	IOTR_FILTER_DEVICE,
	IOTR_FILTER_CGROUP,
	IOTR_FILTER_PATH,
	IOTR_FILTER_LATENCY,
	IOTR_FILTER_SIZE,
	IOTR_FILTER_ERRORS,
	IOTR_FILTER_COUNT,
};

/* What is peculiar about a system call. */
enum iotr_call_trait {
	IOTR_CALL_BYTES = 1 << 0,	  /* the result counts bytes */
	IOTR_CALL_DIRECT = 1 << 1,	  /* a DIO_ operation when the file is O_DIRECT */
	IOTR_CALL_IOVEC = 1 << 2,	  /* `size` is an iovec array, the next argument its length */
	IOTR_CALL_POSITION = 1 << 3,	  /* begins at the file position unless an offset says else */
	IOTR_CALL_OFFSET_POINTER = 1 << 4, /* `offset` points to the offset, or is NULL */
	IOTR_CALL_OPENS = 1 << 5,	  /* the result is a file descriptor */
	IOTR_CALL_MAPS = 1 << 6,	  /* maps a file; the result is the address */
	IOTR_CALL_MAPPED = 1 << 7,	  /* `address` lies in a mapping */
	IOTR_CALL_UNMAPS = 1 << 8,	  /* and the mapping ends */
	IOTR_CALL_STAT = 1 << 9,	  /* `buffer` is a struct stat */
	IOTR_CALL_STATX = 1 << 10,	  /* `buffer` is a struct statx */
	IOTR_CALL_CHDIR = 1 << 11,	  /* the result is the working directory */
	IOTR_CALL_REMOVEDIR = 1 << 12,	  /* RMDIR when AT_REMOVEDIR is set */
	IOTR_CALL_MOVES = 1 << 13,	  /* may make known names wrong */
	IOTR_CALL_OFFSET_SPLIT = 1 << 14, /* `offset` is two 32-bit arguments, low first */
	IOTR_CALL_SIZE_SPLIT = 1 << 15,	  /* and so is `size` */
	IOTR_CALL_HOW = 1 << 16,	  /* `flags` points to a struct open_how */
	IOTR_CALL_ANY_PSEUDO = 1 << 17,	  /* a row although its descriptor is a pipe */
	IOTR_CALL_CREAT = 1 << 18,	  /* flags are O_CREAT|O_WRONLY|O_TRUNC */
	IOTR_CALL_TEXT = 1 << 19,	  /* `path` is text of its own, not a path below a directory */
	IOTR_CALL_OFFSET_PAGES = 1 << 20, /* `offset` counts pages */
	IOTR_CALL_SUBMITS = 1 << 21,	  /* io_submit: operations of its own */
	IOTR_CALL_REAPS = 1 << 22,	  /* io_getevents: their ends */
	IOTR_CALL_REMAPS = 1 << 23,	  /* moves the mapping to the result */
};

/* A system call as a row; argument positions are counted from 1, 0 means there is none. */
struct iotr_call {
	__u64 sessions; /* mask: who may want it */
	__u32 traits;	/* enum iotr_call_trait */
	__u8 stream;
	__u8 operation;
	__u8 flag_kind; /* enum iotr_flag_kind */
	__u8 fd;
	__u8 fd_other; /* used for the file when `fd` is a pipe */
	__u8 directory; /* descriptor that `path` is relative to */
	__u8 path;
	__u8 directory2;
	__u8 path2;
	__u8 size;
	__u8 offset;
	__u8 offset_other; /* with fd_other */
	__u8 address;
	__u8 flags;
	__u8 protection;
	__u8 mapping;
	__u8 buffer;
	__u8 pad[3];
};

/* What a system call is to a stream other than VFS, of which there is one at most. */
struct iotr_plug {
	__u64 sessions; /* mask: who wants it */
	__u8 stream;
	__u8 operation;
	__u8 kind; /* tells the calls of one operation apart: enum iotr_plug_kind */
	__u8 pad[5];
};

/* By the way in which arguments are passed. */
enum iotr_plug_kind {
	IOTR_PLUG_PLAIN,
	IOTR_PLUG_TIMESPEC, /* the timeout is a struct timespec */
	IOTR_PLUG_TIMESPEC64, /* the same in 64 bits, whatever the ABI */
	IOTR_PLUG_TIMEVAL,
	IOTR_PLUG_BUFFER, /* a descriptor, a buffer and its size, and no flags */
	IOTR_PLUG_VECTOR, /* a descriptor, an array of iovecs and their number */
	IOTR_PLUG_MESSAGE, /* a struct msghdr */
	IOTR_PLUG_MESSAGES, /* an array of struct mmsghdr and their number */
	IOTR_PLUG_SENDFILE,
	IOTR_PLUG_SPLICE, /* to a socket or from one: SEND or RECEIVE */
	IOTR_PLUG_PAIR, /* makes two descriptors */
	IOTR_PLUG_REPLACES, /* closes its second argument */
	IOTR_PLUG_RANGE, /* closes from its first argument to its second */
};

/*
 * A folder on the way to a path filter, or its end: a tree that begins at the root, the node 1. Two
 * maps lead into it: path_inodes by the inode that a folder is, path_steps by its parent and name.
 */
struct iotr_path_node {
	__u64 sessions; /* that accept it and all below: its own and those of the nodes above */
	__u64 own;	/* those whose filter ends here; 0 and no children: not needed any more */
	__u64 inode;
	__u64 name; /* see path_name.h */
	__u32 device; /* 0: the node is free */
	__u32 parent; /* of the root the root */
};

struct iotr_path_inode {
	__u64 inode;
	__u32 device;
	__u32 pad;
};

struct iotr_path_step {
	__u64 name;
	__u32 parent;
	__u32 pad;
};

/* The name of a cgroup, as systemd gives it to a unit. */
struct iotr_unit {
	char name[256]; /* NUL padded */
};

/* The value that hints of a command name go by. */
static inline __attribute__((always_inline)) __u64 iotr_command_hint(const __u64 words[IOTR_COMMAND_SIZE / 8])
{
	return iotr_mix(words[0], words[1]);
}

struct iotr_control {
	__u64 open; /* sessions that take what begins now; the others only what has begun */
	__u64 filtered[IOTR_FILTER_COUNT];
	__u64 filtered_task; /* union of the kinds decided when a call begins */
	__u64 filtered_end;  /* union of the kinds decided when it ends */
	__u64 tree;	     /* sessions that follow descendants */
	__u64 pseudo_fs;     /* sessions that want pseudo file systems */
	__u64 epoch;	     /* changes when a rename or rmdir may make names wrong */
	__u64 begun_ns[IOTR_SESSION_SLOTS]; /* since when a place is its session's; far off: nobody's */
	__u64 begun_last_ns; /* the latest of those that are */
	__u64 min_latency_ns[IOTR_SESSION_SLOTS];
	__u64 min_size[IOTR_SESSION_SLOTS];
	__u64 sampled[16]; /* by stream: sessions that take a share of its events */
	__u64 sample_below[IOTR_STREAM_COUNT][IOTR_SESSION_SLOTS]; /* that share of 2^63 */
	__u64 sample_most[16]; /* the largest of these, by stream */
	__u64 cgroup_generation; /* changes with the cgroups that are accepted */
	__u8 hints[IOTR_FILTER_DEVICE + 1][IOTR_HINTS]; /* by the low bits of a value: some filter may name it */
	__u16 path_hints[IOTR_HINTS]; /* by the low bits of an inode's number: a node of such a one, 0: there is none */
	__u64 operation[IOTR_STREAM_COUNT][IOTR_OPERATIONS_MAX]; /* sessions that want it */
	__u64 wanted[IOTR_STREAM_COUNT]; /* by stream: sessions that want any of its operations */
	__u32 own_tgid;
	__u8 block_operation[256]; /* the kernel's REQ_OP_* to enum iotr_block_operation */
	__u32 request_preflush;	   /* the kernel's bit of a request with a flush before it */
	struct iotr_call calls[IOTR_ABI_COUNT][IOTR_CALLS];
	struct iotr_plug plugs[IOTR_ABI_COUNT][IOTR_CALLS];
	struct iotr_path_node path_nodes[IOTR_PATH_NODES]; /* 0: none, accepted by nobody */
};

/* Counters of one stream, per CPU. */
struct iotr_counters {
	__u64 emitted[IOTR_SESSION_SLOTS]; /* events that passed the filters */
	__u64 ring[IOTR_SESSION_SLOTS];	   /* lost: no room in the ring */
	__u64 unmatched[IOTR_SESSION_SLOTS]; /* lost: no room to remember the start */
};

_Static_assert(sizeof(struct iotr_call) == 32, "hole in the call table");
_Static_assert(sizeof(struct iotr_plug) == 16, "hole in the table of plugs");
_Static_assert(sizeof(struct iotr_path_node) == 40, "hole in the tree of paths");
_Static_assert((IOTR_PATH_NODES & (IOTR_PATH_NODES - 1)) == 0, "nodes are masked");
_Static_assert((IOTR_PLUGGED & (IOTR_PLUGGED - 1)) == 0, "slots are masked");
_Static_assert((IOTR_SLOTS & (IOTR_SLOTS - 1)) == 0, "slots are masked");
_Static_assert((IOTR_KNOWN & (IOTR_KNOWN - 1)) == 0, "marks are masked");
