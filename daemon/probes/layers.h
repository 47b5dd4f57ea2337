/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counts of I/O by layer: what applications read and write, what of that the page cache serves, what file systems make
 * of it, and what reaches the disks. The kernel counts, in the programs of bpf/layers.bpf.c; no event is transported.
 * Nothing is loaded, attached or allocated until it is asked for.
 *
 * An account is a process and a device; see struct iotr_layer_key. Units, containers and storage systems are sums over
 * accounts, which the caller makes. What kernel threads write back counts for the process that made it dirty, and what they
 * write to the log of a file system for the one that changed most of it. What no process is known for is on accounts of process
 * 0, one for each device. What found no room is on one account, and what iotracer's own processes do on another one: see enum
 * layers_kind. So the sum over all accounts is what happened, but for what layers_missing() names.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "layer_counts.h"
#include "probes/probes.h"

enum {
	LAYERS_BYTES = 56 << 20, /* memory for accounts, at most; there is room for LAYERS_ACCOUNTS_MIN in any case */
	LAYERS_ACCOUNTS_MIN = 64,
	LAYERS_ACCOUNTS_MAX = 2048,
};

struct layers;

/*
 * Makes the maps and loads the programs, which takes tenths of a second. Any thread, after probes_new(); `probes` must
 * outlive the result. On failure `why` gets a sentence, and the error is that of the kernel.
 */
int layers_load(struct probes *probes, struct layers **ret, char *why, size_t why_size);

/*
 * Attaches the programs: from now on is counted. What cannot be attached is in layers_missing(). An error if nothing can.
 * The programs of PROBES_DIRTIED have to be loaded before, as what they do not tell is there, too.
 * Main thread, as all that follow.
 */
int layers_attach(struct layers *layers);

/* Detaches them. What was counted can still be read. */
void layers_detach(struct layers *layers);

/* Detaches and frees; takes NULL. */
void layers_free(struct layers *layers);

/* ---- accounts ---- */

enum layers_kind {
	LAYERS_OTHER,	/* what found no room: key and process mean nothing */
	LAYERS_OWN,	/* what iotracer does: the same; to be left out of all sums but that of the machine's disks */
	LAYERS_KERNEL,	/* no process is known: key.device alone means something */
	LAYERS_PROCESS,
};

struct layers_account {
	uint32_t index; /* the same in all calls, until `last` */
	enum layers_kind kind;
	bool stacked;	/* key.device is a disk that is made of others, or loop: its DEVICE sums are told as LOOP or STACKED */
	bool last;	/* the process has ended, and its account is used anew: it is not told of again */
	struct iotr_layer_key key;
	struct iotr_layer_process process; /* all 0 if key.process is 0, or if there was no room to keep it */
	/* Of all CPUs, since the account was made. A sum never falls, but that of CACHE_HIT by a few pages. */
	struct iotr_layer_sum sums[IOTR_LAYER_COUNT];
	uint64_t latency_ns[IOTR_LAYER_TIMED]; /* sum of the latencies that are in the histogram */
	uint64_t latency[IOTR_LAYER_TIMED][IOTR_LAYER_BUCKETS];
};

/* Valid during the call alone. */
typedef void (*layers_handler)(const struct layers_account *account, void *userdata);

/*
 * Calls the handler for every account that has counted anything. An account of an ended process is told of with `last`
 * some time after its end, as what it wrote may reach the disk late: the handler adds it to what it keeps. To be called
 * every second or more often while the programs are attached, as accounts of ended processes are free only then.
 * 0 or a negative errno.
 */
int layers_read(struct layers *layers, layers_handler handler, void *userdata);

/* ---- commands ---- */

enum { LAYERS_COMMANDS_MAX = 32 }; /* that are followed at once */

/*
 * The process, and all that it or they begin from now on, are of this command: one bit. -ESRCH: there is no such process; or a
 * negative errno of the kernel's.
 */
int layers_follow(struct layers *layers, uint32_t process, uint32_t command);

/* Forgets the command: its bit may be used again. */
void layers_leave(struct layers *layers, uint32_t command);

/* The commands that the process of an account is of, as bits. */
uint32_t layers_commands(const struct layers *layers, const struct iotr_layer_key *key);

/* ---- what is not counted ---- */

struct layers_missing {
	uint32_t layers; /* as bits: 1 << enum iotr_layer */
	bool inexact;	 /* they are counted, but not all of them, not for whom they are, or without latency, as `why` says */
	const char *hook; /* the kernel's name of it */
	const char *why;  /* a sentence: what is unknown or inexact for want of it */
};

/* What this kernel cannot tell, as far as is known after layers_attach(). Valid until layers_free(). */
size_t layers_missing(const struct layers *layers, const struct layers_missing **ret);

struct layers_statistics {
	uint32_t accounts;     /* in use, without IOTR_LAYER_OTHER */
	uint32_t accounts_max;
	uint64_t unfollowed;   /* processes of commands that could not be followed, since layers_load() */
	uint64_t missed;       /* runs of programs that the kernel has left out: what they would have counted is unknown */
	uint64_t memory;       /* bytes of the maps */
	uint64_t runs, run_ns; /* of the programs, as struct probes_runs */
};

void layers_statistics(const struct layers *layers, struct layers_statistics *ret);
