/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the daemon and the BPF programs share besides the records: the control page (session masks,
 * filters, the table of system calls) and the keys of the maps. The daemon writes the page through
 * mmap while programs run; each event reads a field once, and a field is valid whatever the others hold.
 *
 * A session mask is a word in which bit N stands for the session in slot N of IOTR_SESSION_SLOTS. A
 * session that changes its filters has a second slot while events that began before are in flight.
 */
#pragma once

#include "events.h"
#include "mix.h"
#include "record.h"

#define IOTR_SESSION_SLOTS 64
#define IOTR_CALLS	   512 /* system call numbers per ABI */
#define IOTR_SLOTS	   16384 /* calls in flight of VFS, two-way associative by thread; a power of two */
#define IOTR_PLUGGED	   4096 /* calls in flight of all streams but VFS, kept the same way; a power of two */
#define IOTR_KNOWN	   131072 /* ids of names that were sent to the daemon; a power of two */
#define IOTR_RING_ALONE	   31 /* log2 of more CPUs than there can be: all share one row ring */
#define IOTR_REQUESTS	   8192 /* block requests in flight */
#define IOTR_STACKED	   4096 /* the same of devices without requests */
#define IOTR_BIOS	   8192 /* bios in flight */
#define IOTR_FILTER_KEYS   65536 /* processes named by PID filters of all sessions, with their descendants */
#define IOTR_FILTER_NAMES  4096 /* values of each of the command, UID and device filters, over all sessions */
#define IOTR_ASYNC	   8192 /* libaio operations in flight */
#define IOTR_URING	   8192 /* io_uring requests in flight */
#define IOTR_URING_SILENT  3072 /* of these the silent ones that are kept, and CLOSE of Unix sockets */
#define IOTR_CONNECTING	   4096 /* TCP connections that are being made */
#define IOTR_CLOSING	   256 /* Unix sockets that are being closed */
#define IOTR_CGROUPS	   4096 /* cgroups in filters, and cached results of the cgroup filter; a power of two */
#define IOTR_CGROUP_LEVELS 64 /* levels of the cgroup hierarchy that are walked upwards */
#define IOTR_UNITS	   1024 /* names of systemd units over all sessions */
#define IOTR_FAULT_CPUS	   8192 /* CPUs that a kernel may have, a power of two */
#define IOTR_PATH_NODES	   2048 /* folders of path filters, and those above them; a power of two */
#define IOTR_PATH_LEVELS   64 /* folders above a file, or components of a path, that are walked */
#define IOTR_HINTS	   4096 /* entries in the hint table of a kind of filter; a power of two */
#define IOTR_DIRTIED_SIZE  64 /* bytes of a bucket of the table of pages made dirty */
#define IOTR_DIRTIER_SIZE  88 /* bytes of what is kept of a task that made pages dirty */
#define IOTR_OWN	   128 /* processes of iotracer itself */

enum iotr_abi {
	IOTR_ABI_NATIVE,
	IOTR_ABI_COMPAT, /* 32-bit calls on a 64-bit kernel */
	IOTR_ABI_COUNT,
};

/* Kinds of filter. filtered[kind] in the control page is the session mask of those that use it. */
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

/* How a system call differs from the plain case. A name in backquotes is a member of struct iotr_call. */
enum iotr_call_trait {
	IOTR_CALL_BYTES = 1 << 0,	  /* the result counts bytes */
	IOTR_CALL_DIRECT = 1 << 1,	  /* a DIO_ operation if open with O_DIRECT; argument 2 is the buffer or vector */
	IOTR_CALL_IOVEC = 1 << 2,	  /* `size` is an iovec array, the next argument the number of its entries */
	IOTR_CALL_POSITION = 1 << 3,	  /* starts at the file position unless an offset is given */
	IOTR_CALL_OFFSET_POINTER = 1 << 4, /* `offset` points to the offset, or is NULL */
	IOTR_CALL_OPENS = 1 << 5,	  /* the result is a file descriptor */
	IOTR_CALL_MAPS = 1 << 6,	  /* maps a file; the result is the address */
	IOTR_CALL_MAPPED = 1 << 7,	  /* `address` lies in a VMA, whose file the row names */
	IOTR_CALL_LOCKS = 1 << 8,	  /* fcntl: a row only for locks of ranges */
	IOTR_CALL_STAT = 1 << 9,	  /* `buffer` is a struct stat */
	IOTR_CALL_STATX = 1 << 10,	  /* `buffer` is a struct statx */
	IOTR_CALL_CHDIR = 1 << 11,	  /* the row's file is the working directory after the call */
	IOTR_CALL_REMOVEDIR = 1 << 12,	  /* RMDIR when AT_REMOVEDIR is set */
	IOTR_CALL_AT_LINK = 1 << 13,	  /* a symbolic link at the end of `path` is not followed */
	IOTR_CALL_OFFSET_SPLIT = 1 << 14, /* `offset` is two 32-bit arguments, low first */
	IOTR_CALL_SIZE_SPLIT = 1 << 15,	  /* `size` is two 32-bit arguments, low first */
	IOTR_CALL_HOW = 1 << 16,	  /* `flags` points to a struct open_how */
	IOTR_CALL_ANY_PSEUDO = 1 << 17,	  /* makes a row even when its descriptor is on a pseudo file system */
	IOTR_CALL_CREAT = 1 << 18,	  /* flags are O_CREAT|O_WRONLY|O_TRUNC */
	IOTR_CALL_TEXT = 1 << 19,	  /* `path` is free text, not relative to a directory */
	IOTR_CALL_OFFSET_PAGES = 1 << 20, /* `offset` counts pages */
	IOTR_CALL_SUBMITS = 1 << 21,	  /* io_submit: each operation it submits is a row */
	IOTR_CALL_REAPS = 1 << 22,	  /* io_getevents, io_destroy: ends what io_submit began */
	IOTR_CALL_OFFSET_SHORT = 1 << 24, /* `offset` points to 32 bits */
	IOTR_CALL_REPLACES = 1 << 25,	  /* dup2: closes `fd` if it is open and not the first argument */
	IOTR_CALL_CLONES = 1 << 26,	  /* ioctl: a row only for FICLONE and FICLONERANGE */
	IOTR_CALL_XATTR_ARGS = 1 << 27,	  /* `size` points to a struct xattr_args */
	IOTR_CALL_PLAIN = 1 << 28,	  /* read or write of one buffer: see IOTR_PLAIN_CALL */
};

/* How a system call becomes a row. `fd` and all members after it are argument positions, from 1; 0: none. */
struct iotr_call {
	__u64 sessions; /* session mask: those that record this call if their filters accept it */
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
	__u8 flags_other; /* joined to `flags` */
	__u8 protection;
	__u8 mapping;
	__u8 buffer;
	__u8 pad[2];
};

/*
 * What the table says of a plain call in the native ABI, but for `sessions` and `stream`: all but two members, and all
 * traits but these, follow from that it is one. Of the calls that a busy program makes, most are plain.
 */
#define IOTR_PLAIN_CALL(traits_, operation_)                                                              \
	{                                                                                                 \
		.traits = IOTR_CALL_PLAIN | IOTR_CALL_BYTES | IOTR_CALL_DIRECT | ((traits_) & IOTR_CALL_POSITION), \
		.operation = operation_, .flag_kind = IOTR_FLAGS_FILE, .fd = 1, .size = 3,                \
		.offset = (traits_) & IOTR_CALL_POSITION ? 0 : 4,                                         \
	}

/*
 * In a program that is copied for each call, the operand of an instruction that loads it: a copy has the number of its call there.
 * The low bits are those of the number, 0 here.
 */
#define IOTR_COPY_MARK (0x10fca200 & ~(IOTR_CALLS - 1))

/*
 * The same of an instruction that loads a 64-bit number. Where the kernel has a type and a name for its variable rcu_data, a copy
 * has that there instead: a program that names it by itself would be refused by kernels that have no names for data.
 */
#define IOTR_COPY_RCU_DATA 0x10fcdc00

/* Pairs of programs (entry and exit) at function level, by the parts that a call needs. */
enum iotr_pair {
	IOTR_PAIR_PLAIN,
	IOTR_PAIR_FILE,
	IOTR_PAIR_RESULT,
	IOTR_PAIR_BOTH,
	IOTR_PAIR_AIO,
	IOTR_PAIR_COUNT,
};

/*
 * The row that a system call makes in a stream other than VFS (net, conn, epoll, sockopt). A call makes rows of one
 * such stream at most.
 */
struct iotr_plug {
	__u64 sessions; /* session mask: those that record this call if their filters accept it */
	__u8 stream;
	__u8 operation;
	__u8 kind; /* tells the calls of one operation apart: enum iotr_plug_kind */
	__u8 pad[5];
};

/* How the calls of one operation pass their arguments. */
enum iotr_plug_kind {
	IOTR_PLUG_PLAIN,
	IOTR_PLUG_TIMESPEC, /* the timeout is a struct timespec */
	IOTR_PLUG_TIMESPEC64, /* the same, with 64-bit members in either ABI */
	IOTR_PLUG_TIMEVAL,
	IOTR_PLUG_BUFFER, /* a descriptor, a buffer and its size, and no flags */
	IOTR_PLUG_VECTOR, /* a descriptor, an array of iovecs and their number */
	IOTR_PLUG_MESSAGE, /* a struct msghdr */
	IOTR_PLUG_MESSAGES, /* an array of struct mmsghdr and their number */
	IOTR_PLUG_SENDFILE,
	IOTR_PLUG_SPLICE, /* into a socket (SEND) or out of one (RECEIVE) */
	IOTR_PLUG_PAIR, /* returns two descriptors */
	IOTR_PLUG_REPLACES, /* closes its second argument */
	IOTR_PLUG_RANGE, /* closes from its first argument to its second */
};

/*
 * A node of the tree of path filters: the folder that a filter names, or one above it. The root is
 * node 1. Two maps find a node: path_inodes by the folder's inode, path_steps by parent and name.
 */
struct iotr_path_node {
	__u64 sessions; /* session mask: `own` of this node and of all above, which accept what lies here or below */
	__u64 own;	/* session mask: those whose filter names this folder; with 0 and no child a node is freed */
	__u64 inode;
	__u64 name; /* hash of the folder's name, see path_name.h */
	__u32 device; /* of files there, as stat(2) shows it; 0: the node is free */
	__u32 parent; /* index in path_nodes; the root is its own parent */
	__u32 super; /* that of the super block, by which programs know files on btrfs that cannot tell its subvolumes apart */
	__u32 pad;
};

#define IOTR_VOLUMES 4096 /* subvolumes of btrfs whose file system is known; a power of two */

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

/* The name of a systemd unit, which is the name of its cgroup. */
struct iotr_unit {
	char name[256]; /* NUL padded */
};

/* A command name as a number, whose low bits select its hint. */
static inline __attribute__((always_inline)) __u64 iotr_command_hint(const __u64 words[IOTR_COMMAND_SIZE / 8])
{
	return iotr_mix(words[0], words[1]);
}

/* Kernel functions that a bio may have as bi_end_io, which tell what the bio is for. */
enum iotr_bio_end {
	IOTR_BIO_CHAIN,	  /* a part split off another bio */
	IOTR_BIO_BUFFER,  /* a block of the page cache */
	IOTR_BIO_DISK,	  /* direct I/O on a disk */
	IOTR_BIO_DISK_ASYNC,
	IOTR_BIO_DISK_SIMPLE,
	IOTR_BIO_IOMAP,	  /* direct I/O on a file: of most file systems */
	IOTR_BIO_IOMAP_SIMPLE, /* the same of a small read, from 7.3 on */
	IOTR_BIO_IOMAP_POOL, /* no function, but the pool (bi_pool) of such reads: a synchronous one ends as any bio that is waited for */
	IOTR_BIO_DIO,	  /* direct I/O of file systems that do not use iomap */
	IOTR_BIO_DIO_ASYNC,
	IOTR_BIO_BTRFS,	  /* any bio of btrfs */
	IOTR_BIO_BTRFS_OLD, /* the same, up to 5.19 */
	IOTR_BIO_BTRFS_DIRECT, /* btrfs's own function for direct I/O, stored in struct btrfs_bio */
	IOTR_BIO_XFS_LOG, /* a write of the log of xfs */
	IOTR_BIO_XFS_BUFFER, /* a buffer of metadata of xfs */
	IOTR_BIO_ENDS,
};

/* Byte offsets in structs of btrfs. The daemon finds them, as btrfs may be loaded after the programs. */
struct iotr_btrfs {
	__u32 end_io;	  /* three of struct btrfs_bio, valid when bio_ends has an address for btrfs */
	__u32 private;
	__u32 bio;
	__u32 log_index;  /* of struct extent_buffer; 0: not known */
	__u32 generation; /* of struct btrfs_fs_info; 0: not known */
	__u32 inode;	  /* vfs_inode of struct btrfs_inode, and its root, valid when anon_dev is known */
	__u32 root;
	__u32 anon_dev;	  /* of struct btrfs_root, which is a subvolume; 0: not known */
};

/* Byte offsets in structs of XFS, which may be a module's; all 0: they are not known. None is of a first member. */
struct iotr_xfs {
	__u32 iclog_log;	 /* ic_log of struct xlog_in_core */
	__u32 log_cil;		 /* l_cilp of struct xlog */
	__u32 cil_sequence;	 /* xc_current_sequence of struct xfs_cil */
	__u32 ticket_left;	 /* t_curr_res of struct xlog_ticket */
	__u32 ticket_whole;	 /* t_unit_res of the same */
	__u32 mount_log;	 /* m_log of struct xfs_mount */
	__u32 buffer_block;	 /* __b_map of struct xfs_buf, which begins with the number of its block */
	__u32 buffer_item_buffer; /* bli_buf of struct xfs_buf_log_item */
	__u32 inode_item;	 /* i_itemp of struct xfs_inode */
	__u32 item_buffer;	 /* li_buf of struct xfs_log_item, which the log item of an inode begins with */
};

/* Byte offsets in structs of ext4 and of jbd2, its journal, which may be modules'; all 0: they are not known. None is of a first member. */
struct iotr_ext4 {
	__u32 sync_tid; /* i_sync_tid of struct ext4_inode_info */
	__u32 datasync_tid; /* i_datasync_tid of the same */
	__u32 inode;	/* vfs_inode of the same */
	__u32 journal;	/* s_journal of struct ext4_sb_info */
};

struct iotr_jbd2 {
	__u32 running;	  /* j_running_transaction of struct journal_s */
	__u32 committing; /* j_committing_transaction of the same */
	__u32 committed;  /* j_commit_sequence of the same: number of the last transaction that was */
	__u32 unused;
};

/* File systems that show files of another one: see bpf/backing.bpf.h. */
struct iotr_stacking {
	__u64 overlay; /* address of overlayfs's struct file_system_type; 0: not known */
	__u32 passthrough; /* byte offset in struct fuse_file; 0: not known */
	__u32 mounted; /* one is mounted that the address does not cover */
};

/* Byte offsets in the kernel's struct loop_device, which may be a module's; all 0: it is not known. */
struct iotr_loop_device {
	__u32 command; /* iocb of struct loop_cmd */
	__u32 offset;
	__u32 flags;
	__u32 file; /* lo_backing_file, which is not the first member */
};

/* Addresses of what the kernel counts when the path of a file may have changed; all 0: they are not known. */
struct iotr_changes {
	__u64 rename_lock;
	__u64 mount_lock;
	__u64 rcu_state; /* set last */
};

/* At function level: which programs see system calls of VFS begin. Ends are seen by whichever is there. */
enum iotr_functions {
	IOTR_FUNCTIONS_NONE,  /* those on sys_enter, as not all functions have theirs yet */
	IOTR_FUNCTIONS_BEGUN, /* those on functions; calls that a program on sys_enter has seen may be in flight */
	IOTR_FUNCTIONS_ALONE, /* those on functions */
};

/* What calls of VFS need is within the first 32 KiB, which an instruction reaches at once. */
struct iotr_control {
	__u64 open; /* session mask: those that accept new events; others only see events in flight end */
	__u64 filtered[IOTR_FILTER_COUNT]; /* session mask by enum iotr_filter: those that use this kind of filter */
	__u64 filtered_task; /* union of `filtered` of the kinds decided when a call begins */
	__u64 filtered_file; /* union of `filtered` of DEVICE and PATH */
	__u64 filtered_end;  /* union of `filtered` of the kinds decided when it ends */
	__u64 tree;	     /* session mask: those that follow descendants */
	__u64 pseudo_fs;     /* session mask: those that record pseudo file systems */
	__u64 begun_last_ns; /* the latest begun_ns in use: events that began later need no check per slot */
	__u64 sampled[16]; /* session mask by stream: those that sample it */
	__u64 sample_most[16]; /* by stream: the largest sample_below */
	__u64 cgroup_generation; /* incremented when cgroup filters change, which invalidates cached results */
	struct iotr_changes changes;
	__u32 functions;	   /* enum iotr_functions */
	__u32 request_preflush;	   /* the running kernel's bit REQ_PREFLUSH */
	__u64 plugged; /* 0: no session has recorded calls in a stream other than VFS since the hooks on sys_exit are there */
	__u64 operation[IOTR_STREAM_COUNT][IOTR_OPERATIONS_MAX]; /* session masks: those that record it */
	__u64 wanted[IOTR_STREAM_COUNT]; /* session masks: those that record any operation of the stream */
	__u8 own_hints[IOTR_HINTS]; /* by the low bits of a PID: 0 if no process of iotracer has such a PID */
	__u8 hints[IOTR_FILTER_DEVICE + 1][IOTR_HINTS]; /* by kind and low bits of a value; 0: in no such filter */
	struct iotr_call calls[IOTR_ABI_COUNT][IOTR_CALLS];
	struct iotr_plug plugs[IOTR_ABI_COUNT][IOTR_CALLS];
	__u64 unfollowed[IOTR_SESSION_SLOTS]; /* by slot: descendants not followed, as accept_pid was full */
	/*
	 * By slot: CLOCK_MONOTONIC in ns when its session got it. A mask bit of an event that began before that stands
	 * for an earlier session in the slot. UINT64_MAX / 2 or more: the slot is free.
	 */
	__u64 begun_ns[IOTR_SESSION_SLOTS];
	__u64 min_latency_ns[IOTR_SESSION_SLOTS]; /* by slot: --min-latency; 0: none */
	__u64 min_size[IOTR_SESSION_SLOTS]; /* by slot: --min-size in bytes; 0: none */
	__u64 sample_below[IOTR_STREAM_COUNT][IOTR_SESSION_SLOTS]; /* taken if a 63-bit random number is below */
	__u16 path_hints[IOTR_HINTS]; /* by the low bits of an inode number: index in path_nodes, 0: none */
	__u8 block_operation[256]; /* by the kernel's REQ_OP_*: enum iotr_block_operation */
	__u64 bio_ends[IOTR_BIO_ENDS]; /* addresses; 0: the kernel has no such function, or its address is unknown */
	struct iotr_btrfs btrfs;
	struct iotr_loop_device loop;
	struct iotr_stacking stacking;
	struct iotr_xfs xfs;
	struct iotr_ext4 ext4;
	struct iotr_jbd2 jbd2;
	__u64 bio_ends_version;	   /* of the modules when bio_ends and what is behind it were found; 0: they were not */
	__u32 dirtied_mask; /* number of buckets of the table of pages made dirty, a power of two, minus 1 */
	__u32 spilled_mask; /* the same of the entries of the table of those that found no room there */
	__u64 dirtied_forgotten; /* pages whose dirtier was displaced before they were seen written */
	struct iotr_path_node path_nodes[IOTR_PATH_NODES]; /* node 0 stands for no node: no session accepts it */
	__u64 cpu_changes; /* how often a CPU took a step of coming, while page faults are recorded */
	__u8 fault_cpus[IOTR_FAULT_CPUS]; /* by CPU: 1: it has perf events, by which the ends of page faults are seen */
};

/* Counters of one stream, per CPU. */
struct iotr_counters {
	__u64 emitted[IOTR_SESSION_SLOTS]; /* events that passed the filters */
	__u64 ring[IOTR_SESSION_SLOTS];	   /* lost: no room in the ring */
	__u64 unmatched[IOTR_SESSION_SLOTS]; /* lost: no room at the start, or the end was not seen */
};

_Static_assert(sizeof(struct iotr_call) == 32, "hole in the call table");
_Static_assert(sizeof(struct iotr_plug) == 16, "hole in the table of plugs");
_Static_assert(sizeof(struct iotr_path_node) == 48, "hole in the tree of paths");
_Static_assert((IOTR_FAULT_CPUS & (IOTR_FAULT_CPUS - 1)) == 0, "CPUs are masked");
_Static_assert((IOTR_PATH_NODES & (IOTR_PATH_NODES - 1)) == 0, "nodes are masked");
_Static_assert((IOTR_PLUGGED & (IOTR_PLUGGED - 1)) == 0, "slots are masked");
_Static_assert((IOTR_SLOTS & (IOTR_SLOTS - 1)) == 0, "slots are masked");
_Static_assert((IOTR_KNOWN & (IOTR_KNOWN - 1)) == 0, "marks are masked");
