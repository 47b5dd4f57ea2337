/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the sources of storage share.
 *
 * Locks: `storage->lock` is over all numbers, lists and states, and never held while a disk is
 * waited for. `trace->files` is over the names of the trace's closed segments, and is taken first.
 * The thread that compresses runs when nobody else does: it holds either only for moments.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "clocks.h"
#include "storage.h"

enum kept_state {
	KEPT_PLAIN,	  /* stays as it is */
	KEPT_UNHASHED,	  /* will wait */
	KEPT_WAITING,	  /* to be compressed */
	KEPT_COMPRESSING, /* by the keeper; whoever removes it just changes the state */
	KEPT_COMPRESSED,
	KEPT_REMOVING, /* by some thread, which waits for the disk */
	KEPT_REMOVED,  /* in no list but that of the changes */
};

/* A closed segment. */
struct kept {
	TAILQ_ENTRY(kept) entry;  /* of its stream */
	TAILQ_ENTRY(kept) change; /* of the trace, when `changed` */
	bool changed;
	bool held;   /* by the keeper: it frees what was removed meanwhile */
	bool hashed; /* the writer has closed it */
	enum kept_state state;
	enum iotr_stream stream;
	unsigned int number;
	char name[TRACE_NAME_MAX]; /* without .gz */
	uint64_t bytes;		   /* on the disk */
	uint64_t packed;	   /* of the .gz that is being made */
	uint64_t closed_ns;	   /* CLOCK_REALTIME */
	unsigned int tries;	   /* to compress it */
	uint64_t retry_ns;	   /* CLOCK_MONOTONIC: not to be compressed before */
	uint64_t stuck_ns;	   /* not to be removed before */
};

TAILQ_HEAD(kept_list, kept);

struct trace {
	TAILQ_ENTRY(trace) entry;
	struct storage *storage;
	unsigned int references; /* the owner's, and of threads that are at work with it */
	pthread_mutex_t files;
	int folder_fd; /* -1: opened by the path when needed */
	char *path;
	dev_t device;
	uint32_t streams;
	bool counted; /* below the log folder */
	bool ended;
	bool recovering; /* its folder is being set right: its manifest is not ours */
	bool untouched;	 /* nothing is removed: it is looked at */
	bool others;	 /* has files besides segments and the manifest, and never goes as a whole */
	ino_t inode;	 /* of a folder found by the scan */
	bool compress;
	uint64_t keep_size;
	unsigned int keep_segments;
	uint64_t ended_ns;  /* CLOCK_REALTIME */
	uint64_t used;	    /* bytes, those taken included */
	uint64_t in_flight; /* of them: taken, not written yet */
	uint64_t leaving;   /* of them: being removed */
	struct kept_list kept[IOTR_STREAM_COUNT];
	unsigned int waiting; /* KEPT_UNHASHED, KEPT_WAITING and KEPT_COMPRESSING */
	struct kept_list changes;
	_Atomic unsigned int change_count;
	/* The keeper's, which holds a reference meanwhile. */
	struct trace_change *untold; /* taken from the changes, not in the manifest yet */
	size_t untold_count;
	unsigned int tell_tries;
	uint64_t tell_ns; /* CLOCK_MONOTONIC: not to be tried again before */
	uint64_t told_ns; /* the last time */
	int eventfd; /* not owned, -1: none */
};

TAILQ_HEAD(trace_list, trace);

struct storage {
	pthread_mutex_t lock;
	pthread_cond_t work; /* for the keeper */
	pthread_cond_t gone; /* something was removed */
	char *log_dir;
	dev_t device; /* of it */
	struct storage_limits limits;
	struct trace_list traces;
	unsigned int running; /* counted traces that have not ended */
	uint64_t used;	      /* by counted traces */
	uint64_t leaving;
	uint64_t credit; /* bytes removed for keep_free that may be used again */
	pthread_t keeper;
	bool keeper_runs;
	_Atomic bool stopping;
};

/* Empty, in no list. */
void trace_init(struct trace *trace, struct storage *storage, dev_t device, bool counted);

/* With the lock held. */
struct trace *trace_alloc(struct storage *storage, dev_t device, bool counted);
void trace_unref(struct trace *trace);
void trace_use(struct trace *trace, uint64_t bytes);
void trace_unuse(struct trace *trace, uint64_t bytes);
void kept_set_state(struct trace *trace, struct kept *kept, enum kept_state state);
int kept_add(struct trace *trace, const struct kept *kept);
void kept_note(struct trace *trace, struct kept *kept);
void kept_put(struct kept *kept); /* frees what is in no list, unless it is held */

/* The oldest closed segment that can be removed, of a stream or of all, or NULL. */
struct kept *kept_oldest(const struct kept_list *list, uint64_t mono_ns);
struct kept *trace_oldest(const struct trace *trace);

/* The files of a segment; lets go of the lock meanwhile. False: they cannot be removed now. */
bool trace_remove(struct trace *trace, struct kept *kept);

/*
 * For the .gz of `kept`: only older segments of the session make room, and none when it has ended.
 * -ECANCELED: it was removed.
 */
int trace_take_packed(struct trace *trace, struct kept *kept, uint64_t bytes);
void trace_settle_packed(struct trace *trace, struct kept *kept, uint64_t taken, uint64_t written);

/*
 * The whole folder of an ended trace without segments; lets go of the lock meanwhile. The trace is
 * gone then. False: not all of it could be removed.
 */
bool trace_remove_folder(struct trace *trace);

/* Removes what is over the limits, with the lock held. */
void storage_trim(struct storage *storage);

/* A descriptor of the trace's folder, or of a stream's. */
int trace_open(const struct trace *trace);
int trace_open_stream(const struct trace *trace, enum iotr_stream stream);

/*
 * Traces of ended sessions, as found below the log folder; `recovered` as for storage_new(). Before
 * the thread runs.
 */
void storage_scan(struct storage *storage, const char *const *recovered);

/*
 * Writes the trace's changes into its manifest.json. 0 or a negative errno; then the next call does
 * it, or trace_drop_untold() forgets them. Both without the lock.
 */
int manifest_edit(struct trace *trace);
void trace_drop_untold(struct trace *trace);

/* The thread. */
void *keeper_run(void *storage);
