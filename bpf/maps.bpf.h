/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the daemon fills in: the maps that all objects share, which are created once and reused by every object, and
 * constants, which are set before an object is loaded.
 */
#pragma once

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include <stdbool.h>

#include "kernel_changes.h"
#include "slot.h"

#define ARRAY_OF(name_, type_, count_, flags_)             \
	struct {                                           \
		__uint(type, BPF_MAP_TYPE_ARRAY);          \
		__uint(map_flags, flags_);                 \
		__uint(max_entries, count_);               \
		__type(key, __u32);                        \
		__type(value, type_);                      \
	} name_ SEC(".maps")

#define ARRAY_PER_CPU(name_, type_, count_)                \
	struct {                                           \
		__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);   \
		__uint(max_entries, count_);               \
		__type(key, __u32);                        \
		__type(value, type_);                      \
	} name_ SEC(".maps")

#define HASH_OF(name_, kind_, key_, value_, count_)        \
	struct {                                           \
		__uint(type, BPF_MAP_TYPE_##kind_);        \
		__uint(max_entries, count_);               \
		__type(key, key_);                         \
		__type(value, value_);                     \
	} name_ SEC(".maps")

struct iotr_command {
	char text[IOTR_COMMAND_SIZE] __attribute__((aligned(8)));
};

/*
 * Variables, which are found without a lookup: all that an object has in its section .bss, the map of which is the same one in
 * every object. They have the order of struct iotr_shared, which compilers keep where a variable has an initial value; the
 * daemon refuses an object with another (daemon/probes/shared_map.h).
 */
struct iotr_control control = {};
struct iotr_draw draws[IOTR_DRAWS] = {};
struct slot slots[IOTR_SLOTS] = {};
struct slot plugged[IOTR_PLUGGED] = {};
struct slot parked[IOTR_PARKED] = {};

ARRAY_OF(known, __u64, IOTR_KNOWN, BPF_F_MMAPABLE);

ARRAY_PER_CPU(counters, struct iotr_counters, IOTR_STREAM_COUNT);

/* The row ring, which the daemon creates; where there are several, the first of them. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} row_ring SEC(".maps");

/* Row rings, one for each group of CPUs; the daemon puts them in. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 64);
	__type(key, __u32);
	__array(values, struct {
		__uint(type, BPF_MAP_TYPE_RINGBUF);
		__uint(max_entries, 1 << 20);
	});
} rings SEC(".maps");

/*
 * Who made pages dirty: see dirtied.bpf.h and dirtier.bpf.h. The daemon makes the tables when the programs that fill them
 * are attached, and puts them in: see daemon/probes/dirtied.h.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct {
		__uint(type, BPF_MAP_TYPE_ARRAY);
		__uint(map_flags, BPF_F_INNER_MAP);
		__uint(max_entries, 1);
		__type(key, __u32);
		__uint(value_size, IOTR_DIRTIED_SIZE);
	});
} dirtied SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct {
		__uint(type, BPF_MAP_TYPE_ARRAY);
		__uint(map_flags, BPF_F_INNER_MAP);
		__uint(max_entries, 1);
		__type(key, __u32);
		__type(value, __u64);
	});
} spilled SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct {
		__uint(type, BPF_MAP_TYPE_LRU_HASH);
		__uint(max_entries, 1);
		__uint(key_size, sizeof(__u32));
		__uint(value_size, IOTR_DIRTIER_SIZE);
	});
} dirtiers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20); /* the daemon sets the size */
} names SEC(".maps");

/*
 * By stream: the programs that those on system calls, or on the queue and the end of block requests, tail call. The daemon puts
 * them in.
 */
#define PROGRAMS_OF(name_)                                 \
	struct {                                           \
		__uint(type, BPF_MAP_TYPE_PROG_ARRAY);     \
		__uint(max_entries, IOTR_STREAM_COUNT);    \
		__type(key, __u32);                        \
		__type(value, __u32);                      \
	} name_ SEC(".maps")

PROGRAMS_OF(plug_enters);
PROGRAMS_OF(plug_exits);
PROGRAMS_OF(plug_queues);
PROGRAMS_OF(plug_completes);

HASH_OF(own_processes, HASH, __u32, __u64, IOTR_OWN); /* how much of each was left out */
HASH_OF(accept_pid, HASH, __u32, __u64, IOTR_FILTER_KEYS);
HASH_OF(accept_command, HASH, struct iotr_command, __u64, IOTR_FILTER_NAMES);
HASH_OF(accept_uid, HASH, __u32, __u64, IOTR_FILTER_NAMES);
HASH_OF(accept_device, HASH, __u32, __u64, IOTR_FILTER_NAMES);
HASH_OF(accept_cgroup, HASH, __u64, __u64, IOTR_CGROUPS);
HASH_OF(accept_unit, HASH, struct iotr_unit, __u64, IOTR_UNITS);
HASH_OF(path_inodes, HASH, struct iotr_path_inode, __u32, 2 * IOTR_PATH_NODES);
ARRAY_OF(volumes, __u64, IOTR_VOLUMES, 0); /* of btrfs, by the minor of their device: it, and above it the super block's device */
HASH_OF(path_steps, HASH, struct iotr_path_step, __u32, IOTR_PATH_NODES);

/* Set by the daemon before load. */
const volatile bool typed_reads = false; /* the kernel has bpf_rdonly_cast */
const volatile __u32 ring_shift = IOTR_RING_ALONE; /* log2 of the CPUs that share a row ring */
const volatile bool preempted = true;	 /* the kernel preempts programs: another thread's may run in between */
const volatile bool may_hold = false;	 /* the kernel has bpf_preempt_disable, by which a program is not, for a moment */
const volatile __u32 flow_cpu_bits = 0; /* of the number of a CPU: see flow.h */
const volatile __u64 text_key[2] = {};	 /* of the fingerprints of texts: random */
