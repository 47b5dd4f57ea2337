/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What BPF programs and the daemon share about the layers that I/O passes: the counts of bpf/layers.bpf.c. An account
 * is a process and a device that its files are on, or that its requests go to.
 */
#pragma once

#include <linux/types.h>

/*
 * What is counted. Those up to IOTR_LAYER_TIMED have a histogram of latencies as well. A page is of 4 KiB, whatever the
 * size of a folio. Application bytes are of regular files and of block devices alone; not of sockets, pipes, terminals,
 * other character devices and pseudo file systems.
 */
enum iotr_layer {
	/*
	 * APPLICATION: system calls, io_uring and libaio. Bytes are those done, of libaio those asked for. With MAP below it
	 * is also what the VFS gets, but for what the kernel does to files by itself, as for loop devices: no hook that all
	 * kernels have tells of that.
	 */
	IOTR_LAYER_APP_READ,
	IOTR_LAYER_APP_WRITE,
	IOTR_LAYER_APP_SYNC, /* fsync, fdatasync, sync, syncfs, msync, sync_file_range; no bytes */
	/* DEVICE: requests of leaf disks that have ended. */
	IOTR_LAYER_DEVICE_READ,
	IOTR_LAYER_DEVICE_WRITE,
	IOTR_LAYER_DEVICE_FLUSH, /* no bytes */
	/*
	 * CACHE: an operation is a page. HIT + MISS is what read calls returned, and MISS + READAHEAD what was added. Latencies are
	 * those of system calls, by what the cache did for them: read calls that found all pages, those that did not, and
	 * write calls that left what they wrote in the cache.
	 */
	IOTR_LAYER_CACHE_HIT,
	IOTR_LAYER_CACHE_MISS,
	/*
	 * Clean pages that were made dirty, including metadata in a block device's cache: of those that the kernel makes dirty together
	 * (a folio) what the call writes, and all of them where that is not known, as for faults.
	 */
	IOTR_LAYER_CACHE_DIRTIED,
	/*
	 * FILESYSTEM: bios that a file system submits, or the cache or direct I/O of a block device. Latencies are from there to
	 * the end of the last part of the bio, and so those of all that is below.
	 */
	IOTR_LAYER_FS_READ, /* data */
	IOTR_LAYER_FS_WRITE,
	IOTR_LAYER_FS_METADATA_READ,
	IOTR_LAYER_FS_METADATA_WRITE,
	IOTR_LAYER_FS_JOURNAL_WRITE,
	IOTR_LAYER_TIMED,
	IOTR_LAYER_DEVICE_DISCARD = IOTR_LAYER_TIMED, /* discard, secure erase and zeroes that are not transferred */
	/* APPLICATION by mapped files: an operation is a page fault, and its bytes are the page. */
	IOTR_LAYER_MAP_READ,  /* faults that had to wait for a page that was not in the cache */
	IOTR_LAYER_MAP_WRITE, /* faults that made a clean page dirty */
	IOTR_LAYER_CACHE_READAHEAD,
	IOTR_LAYER_CACHE_FOLIOS, /* bytes of the folios that DIRTIED is of: no more than this waits for being written */
	/*
	 * What was asked of disks that are made of others, by the daemon's count: of loop devices, whose file a thread of the kernel's
	 * reads and writes, so that the disk below does it for nobody; and of others, where it may be so.
	 */
	IOTR_LAYER_LOOP_READ,
	IOTR_LAYER_LOOP_WRITE,
	IOTR_LAYER_STACKED_READ,
	IOTR_LAYER_STACKED_WRITE,
	IOTR_LAYER_COUNT,
};

/*
 * Buckets of a histogram: the first is of latencies below 128 ns, bucket N of those from 64 << N ns to below twice that,
 * and the last of all from 137 s on.
 */
#define IOTR_LAYER_BUCKETS 32

/* Of calls that read and write, the latency of one in so many of each thread goes into the histograms. Of others, all. */
#define IOTR_LAYER_TIMED_ONE 32

struct iotr_layer_sum {
	__u64 operations;
	__u64 bytes;
	__u64 errors; /* of the operations */
};

/* The counts of an account: on one CPU, as the kernel keeps them. */
struct iotr_layer_counts {
	struct iotr_layer_sum sums[IOTR_LAYER_COUNT];
	__u64 latency_ns[IOTR_LAYER_TIMED]; /* sum of the latencies that are in the histogram */
	__u32 latency[IOTR_LAYER_TIMED][IOTR_LAYER_BUCKETS]; /* operations; they wrap around */
};

/* Which process and device an account is of. */
struct iotr_layer_key {
	__u64 start_ns; /* when the process was started, CLOCK_BOOTTIME; 0: the kernel itself, or a process not known */
	__u32 process;	/* tgid in the initial namespace; 0: as above */
	__u32 device;	/* st_dev of the file system as the kernel has it (major << 20 | minor), or disk; 0: none */
};

#define IOTR_LAYER_COMMAND    16
#define IOTR_LAYER_EXECUTABLE 32

/* Who a process is, kept for those that have ended, too. By its pid. */
struct iotr_layer_process {
	__u64 start_ns;	 /* as in struct iotr_layer_key */
	__u64 exited_ns; /* CLOCK_MONOTONIC; 0: it has not ended */
	__u64 cgroup_id; /* at its end, or when it was first seen or executed another program */
	__u32 ppid;
	__u32 uid;
	char command[IOTR_LAYER_COMMAND] __attribute__((aligned(8))); /* NUL padded */
	char executable[IOTR_LAYER_EXECUTABLE]; /* last component of its path, cut, NUL padded; empty: none is known */
};

/*
 * A process of a command whose I/O is told apart, with all its descendants. A PID is not used again within so short a time, which
 * is what procfs tells of when a process was started.
 */
struct iotr_layer_family {
	__u32 process; /* as in struct iotr_layer_key */
	__u32 started; /* start_ns there, in units of IOTR_LAYER_TICK_NS, as 32 bits */
};

#define IOTR_LAYER_TICK_NS 10000000 /* 1 / USER_HZ */

/* Indices of accounts that have no key. */
enum {
	IOTR_LAYER_OTHER, /* what found no room */
	IOTR_LAYER_OWN,	  /* what processes of iotracer itself do */
	IOTR_LAYER_FIRST, /* that of the first account with a key */
};
