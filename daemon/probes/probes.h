/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel side: BPF objects, which are loaded once and attached while a session records their stream,
 * and the maps that they share with the daemon. Main thread; any thread may read the control page. What is said of a
 * program or a hook is final when it is loaded: see loading.h.
 *
 * If the kernel refuses an object, only its hooks are missing, with a reason; the daemon runs on.
 */
#pragma once

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stdint.h>

#include "control.h"
#include "probes/dirtier_hooks.h"
#include "probes/kernel.h"

enum probes_level {
	PROBES_AUTO,
	PROBES_FUNCTION,
	PROBES_TRACEPOINT,
};

/* Groups of programs that are attached and detached together. */
enum probes_group {
	PROBES_CALLS,	/* system calls of the file system, at function level, and what stands in for it: handover.c */
	PROBES_ENTERS,	/* sys_enter: of streams other than VFS or, at tracepoint level, of all */
	PROBES_EXITS,	/* sys_exit, the same; goes on to that of CACHE */
	PROBES_CACHE_EXIT, /* sys_exit, of CACHE by itself: see hookset.c */
	PROBES_REQUESTS, /* the queue of bios and the end of requests, of BLOCK; go on to those of CACHE */
	PROBES_PROCESS, /* fork and end of processes for --tree, and cgroups of units */
	/*
	 * One for each stream and further object. That of VFS has no programs of its own: those on system calls are of
	 * the groups above. That of IOURING has those of all streams with rows of io_uring.
	 */
#define PROBES_GROUP(id, ...) PROBES_##id,
	IOTR_STREAMS(PROBES_GROUP)
	IOTR_FURTHER_OBJECTS(PROBES_GROUP)
	PROBES_GROUP_COUNT,
};

struct probes;

struct probes_loss {
	uint64_t emitted, ring, unmatched;
};

struct probes_config {
	enum probes_level level;
	uint32_t ring_size; /* bytes of each row ring, a power of two from 1 MiB on; 0: 16 MiB, less where there are more than two */
	int symbols; /* of symbols_open(), which stays open as long; -1: no addresses of functions */
	int bequest, hooks; /* what the last daemon of the service has left, see fd_store.h, until the return; -1: nothing */
};

/*
 * Makes the maps; loading.h has the programs loaded. On failure `why` gets a sentence. -ENOENT: no BTF; -EPERM: not allowed;
 * -EOPNOTSUPP: no such level here.
 */
int probes_new(const struct probes_config *config, struct probes **ret, char *why, size_t why_size);
void probes_free(struct probes *probes);

enum probes_level probes_level(const struct probes *probes); /* never PROBES_AUTO */

/* "function" or "tracepoint". */
static inline const char *probes_level_name(enum probes_level level)
{
	return level == PROBES_FUNCTION ? "function" : "tracepoint";
}

const struct kernel *probes_kernel(const struct probes *probes);
struct iotr_control *probes_page(struct probes *probes);

/* Ids of names that were sent, IOTR_KNOWN of them: writing 0 makes the kernel side send a name again. */
uint64_t *probes_known(struct probes *probes);

/* File descriptor of a shared map. */
int probes_map(const struct probes *probes, const char *name);

/* Row rings; the ring of names is the map "names". */
const int *probes_rings(const struct probes *probes, size_t *count);

/* Bytes of memory that the maps and rings hold. */
uint64_t probes_memory(const struct probes *probes);

/* The groups, as a mask of bits, that a stream needs. */
uint32_t probes_stream_groups(enum iotr_stream stream);

/* The groups, as a mask of bits, that stand for the given ones at this level. */
uint32_t probes_groups(const struct probes *probes, uint32_t groups);

/*
 * Attaches or detaches a group. If the group is attached already, only what failed before is tried again.
 * Failures are logged, and kept until the group is detached: see probes_failures(). While the loop of loading.h runs, a thread
 * attaches those that tell more of rows, see late.h, and this returns at once.
 */
int probes_attach(struct probes *probes, enum probes_group group);
void probes_detach(struct probes *probes, enum probes_group group);

/* Attaches what each CPU has of its own to CPUs that have come since. To be called from time to time. */
void probes_follow_cpus(struct probes *probes);

/* Whether the group is attached as far as it can be, not only about to be. */
bool probes_is_attached(const struct probes *probes, enum probes_group group);

/*
 * Goes on with what takes its time: what a thread has attached; at function level, from the programs that stand in to those on
 * functions. To be called now and then while there are sessions; loading.h does when there is news.
 */
void probes_see_to(struct probes *probes);

/* What rows lack at first, as the hooks that tell it are attached behind the start of who wants them. */
enum probes_lack {
	PROBES_LACK_INODES,   /* those of calls with paths, in rows of VFS */
	PROBES_LACK_DIRTIERS, /* who made pages dirty that are written, in rows of BLOCK */
	PROBES_LACK_SOURCES,  /* where datagrams come from, in rows of NET */
	PROBES_LACK_COUNT,
};

/*
 * What is not seen yet of that, though it is at this level, as a mask with a bit for each: for a moment after the groups of such a
 * stream were attached, and before. What waits for the end of that is told, see loading.h.
 */
uint32_t probes_lacks(const struct probes *probes);

/*
 * At function level, what system calls of files are seen by as long as it is not their functions, and why; NULL: it is
 * these, or nobody sees any.
 */
const char *probes_stand_in(const struct probes *probes);

/* A hook that could not be attached. */
struct probes_failure {
	enum probes_group group;
	struct bpf_program *program; /* the program to try again with */
	char hook[96];		     /* as it is shown to users */
	int error;		     /* negative errno */
};

/* All failures; valid until a group is attached or detached. */
const struct probes_failure *probes_failures(const struct probes *probes, size_t *count);

/* Number of programs that are attached now. */
size_t probes_attached(const struct probes *probes);

/* Waits until every program that began before this call has ended: all later ones see the page as it is now. */
void probes_quiesce(struct probes *probes);

/* Counts since the daemon's start of all sessions that the slot has had. */
void probes_loss(const struct probes *probes, enum iotr_stream stream, unsigned int session,
		 struct probes_loss *loss);

/* The same for the first `count` slots, at the cost of one. False: the counters cannot be read now. */
bool probes_losses(const struct probes *probes, enum iotr_stream stream, struct probes_loss *losses,
		   size_t count);

/*
 * How often since they were loaded the kernel has skipped a program of the groups, as it was already running
 * on that CPU, preempted. What the skipped runs would have seen is unknown.
 */
uint64_t probes_missed(const struct probes *probes, uint32_t groups);

/* Number and time of runs of programs, counted while the kernel's BPF statistics are enabled. */
struct probes_runs {
	uint64_t count, ns;
};

/* Sum over all programs since they were loaded. */
void probes_runs(const struct probes *probes, struct probes_runs *runs);

/* Hooks that tell who caused what is written later, and are lacking, when the programs are loaded: see dirtier_lacks(). */
size_t probes_dirtier_lacks(const struct probes *probes, bool blocks, struct dirtier_lack lacks[DIRTIER_LACKS]);

/* Whether programs were not loaded because there was no memory. */
bool probes_lacked_memory(const struct probes *probes);

/* The hook that an operation is seen by, as it is shown to users; NULL: none, and `reason` says why. */
const char *probes_hook(const struct probes *probes, enum iotr_stream stream,
			unsigned int operation, const char **reason);
