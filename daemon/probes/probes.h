/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel side: objects loaded once, attached while a session wants their stream, and the maps
 * they share with the daemon. Main thread; the control page may be read by any.
 *
 * An object that the kernel refuses takes away its hooks, with the reason, never the daemon.
 */
#pragma once

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stdint.h>

#include "control.h"
#include "probes/kernel.h"

enum probes_level {
	PROBES_AUTO,
	PROBES_FUNCTION,
	PROBES_TRACEPOINT,
};

/* Groups of programs that are attached and detached together. */
enum probes_group {
	PROBES_CALLS,	/* system calls of the file system, at function level */
	PROBES_ENTERS,	/* system calls that begin: of other streams, or of all */
	PROBES_EXITS,	/* and those that end */
	PROBES_INODES,	/* inodes of calls on paths, at function level */
	PROBES_ASYNC,	/* files by io_uring, and libaio with the calls */
	PROBES_BLOCK,
	PROBES_PROCESS, /* births and ends of processes, for --tree */
	PROBES_EPOLL,
	PROBES_SOCKOPT,
	PROBES_DROP,
	PROBES_IOURING,
	PROBES_NET,
	PROBES_NET_URING, /* the same stream, of io_uring */
	PROBES_CONN,
	PROBES_CONN_URING, /* the same stream, of io_uring */
	PROBES_CACHE,
	PROBES_PAGEFAULT,
	PROBES_GROUP_COUNT,
};

struct probes;

struct probes_loss {
	uint64_t emitted, ring, unmatched;
};

/* `why` gets a sentence on failure. -ENOENT: no BTF; -EPERM: not allowed; -EOPNOTSUPP. */
int probes_new(enum probes_level level, struct probes **ret, char *why, size_t why_size);
void probes_free(struct probes *probes);

enum probes_level probes_level(const struct probes *probes); /* never PROBES_AUTO */
const struct kernel *probes_kernel(const struct probes *probes);
struct iotr_control *probes_page(struct probes *probes);

/* Marks of known names, IOTR_KNOWN of them: writing 0 makes the kernel send the name again. */
uint64_t *probes_known(struct probes *probes);

/* File descriptor of a shared map. */
int probes_map(const struct probes *probes, const char *name);

/* Row rings; the ring of names is the map "names". */
const int *probes_rings(const struct probes *probes, size_t *count);

/* Bytes of memory that the maps and rings hold. */
uint64_t probes_memory(const struct probes *probes);

/* The groups, a bit each, that do at this level what the given ones are wanted for. */
uint32_t probes_groups(const struct probes *probes, uint32_t groups);

/* Attaches or detaches a group; does nothing when it is so already. `missing` hooks are logged. */
int probes_attach(struct probes *probes, enum probes_group group);
void probes_detach(struct probes *probes, enum probes_group group);

/* Programs that are attached now. */
size_t probes_attached(const struct probes *probes);

/* Waits until no program runs that began before this call: what the page says now is obeyed. */
void probes_quiesce(struct probes *probes);

/* Counts since the daemon's start for whoever had the session's bit. */
void probes_loss(const struct probes *probes, enum iotr_stream stream, unsigned int session,
		 struct probes_loss *loss);

/*
 * How often since they were loaded the kernel left out a program of the groups, as the one that it
 * ran on that CPU had been preempted half-way: what these would have seen is unknown.
 */
uint64_t probes_missed(const struct probes *probes, uint32_t groups);

/* Runs of programs, counted while the kernel's statistics of them are on, and what these took. */
struct probes_runs {
	uint64_t count, ns;
};

/* Of all programs since they were loaded. */
void probes_runs(const struct probes *probes, struct probes_runs *runs);

/* The hook that an operation uses, or NULL with the reason why there is none. */
const char *probes_hook(const struct probes *probes, enum iotr_stream stream,
			unsigned int operation, const char **reason);
