/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the sources of storage share. From below, each made of those before it:
 *
 *   kept.c        the bytes and closed segments of a trace: numbers and lists
 *   trace_life.c  traces, which live as long as a thread works with them
 *   marks.c       what says of a segment that it was removed until the manifest does
 *   visits.c      which threads wait for which disks
 *   removal.c     segments and folders that go
 *   room.c        whether there is room to write, and what goes to make some
 *   manifest_file.c, manifest_edit.c   manifest.json, which takes room like any file
 *   rest.c        what compressing leaves to others of CPU and disk
 *   tell.c, pack.c   what keepers do: tell the manifest what became of segments, and compress these
 *   keeper.c      the keepers' threads
 *   trace.c       what a writer reports, scan.c what earlier sessions left, storage.c all of it together
 *
 * Locks: `storage->lock` protects all numbers, lists and states, and is never held while a disk is
 * waited for. `trace->files` protects the names of the trace's closed segments, and is taken first.
 * Keepers leave the CPU to others while they compress: they hold either lock only for moments, and not
 * then.
 */
#pragma once

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "clocks.h"
#include "compress.h"
#include "segment_mark.h"
#include "segment_name.h"
#include "storage.h"

enum kept_state {
	KEPT_PLAIN,	  /* stays as it is */
	KEPT_WAITING,	  /* to be compressed */
	KEPT_COMPRESSING, /* by a keeper; a thread that removes it just changes the state */
	KEPT_COMPRESSED,
	KEPT_REMOVING, /* by a thread, which waits for the disk */
	KEPT_REMOVED,  /* in no list but that of the changes */
};

/* A closed segment. */
struct kept {
	TAILQ_ENTRY(kept) entry;  /* in the list of its stream */
	TAILQ_ENTRY(kept) change; /* in the trace's list of changes, when `changed` */
	bool changed;
	pid_t held;	   /* the keeper's thread that has its file open, and frees it if it was removed meanwhile; 0: none */
	_Atomic bool unwanted; /* is being removed, for the keeper that holds it, which reads it without the lock */
	uint64_t lingers;  /* bytes of it that are removed, and not free for as long as it is held */
	enum kept_state state;
	enum iotr_stream stream;
	enum iotr_removal limit; /* to which it is, or was, removed */
	unsigned int number;
	char name[SEGMENT_NAME_MAX]; /* without .gz */
	uint64_t bytes;		   /* on the disk */
	uint64_t rows, text; /* rows, and bytes of their text; 0: of an earlier session, whose manifest has them */
	uint64_t packed;	   /* bytes of the .gz that is being made */
	uint8_t stored_sha256[SHA256_DIGEST_SIZE]; /* of the .gz, until the manifest is told that it was made */
	uint64_t closed_ns;	   /* CLOCK_REALTIME */
	unsigned int tries;	   /* failed ones, to compress it */
	uint64_t retry_ns;	   /* CLOCK_MONOTONIC: not to be compressed before */
	uint64_t stuck_ns;	   /* CLOCK_MONOTONIC: not to be removed before */
};

TAILQ_HEAD(kept_list, kept);
SLIST_HEAD(mark_list, mark);

/* A mark of a segment that was removed. */
struct mark {
	SLIST_ENTRY(mark) entry;
	enum iotr_stream stream;
	unsigned int number;
	bool told; /* the thread that writes the manifest knows of the removal */
	char name[SEGMENT_MARK_MAX];
};

struct trace {
	TAILQ_ENTRY(trace) entry;
	struct storage *storage;
	unsigned int references; /* of the owner, and of threads that work with it */
	pthread_mutex_t files;
	int folder_fd; /* -1: opened by the path when needed */
	char *path;
	struct rights *rights; /* of its files; NULL: those of the storage */
	dev_t device;
	uint32_t streams;
	bool counted; /* it is below the log folder, and counts for max_use */
	bool ended;
	bool recovering; /* its folder is being recovered, and its manifest left alone */
	bool untouched;	 /* nothing is removed from it, as it is being scanned */
	bool others;	 /* has files besides segments, table of cgroups and manifest, and is never removed as a whole */
	ino_t inode;	 /* of the folder, lest another one be taken for it */
	bool compress;
	uint64_t keep_size;
	unsigned int keep_segments;
	uint64_t ended_ns;  /* CLOCK_REALTIME */
	uint64_t used;	    /* bytes of its files, those taken by trace_take() included */
	uint64_t in_flight; /* bytes of them that are taken, not written yet */
	uint64_t leaving;   /* bytes of them that are being removed */
	struct kept_list kept[IOTR_STREAM_COUNT];
	unsigned int waiting; /* KEPT_WAITING and KEPT_COMPRESSING */
	struct kept_list changes;
	_Atomic unsigned int change_count;
	struct mark_list marks;
	/* For the keeper that writes the manifest, which holds a reference meanwhile. */
	struct trace_change *untold; /* taken from the changes, not in the manifest yet */
	size_t untold_count;
	unsigned int tell_tries;
	uint64_t tell_ns; /* CLOCK_MONOTONIC: not to be tried again before */
	uint64_t told_ns; /* CLOCK_MONOTONIC: when the manifest was last written */
	int eventfd; /* woken when there are changes; not owned, -1: none */
};

TAILQ_HEAD(trace_list, trace);

/* Why a thread waits for a disk. */
enum visit_kind {
	VISIT_WORK,    /* a keeper compresses, or writes a manifest: one for each disk */
	VISIT_TRIM,    /* a keeper removes: one for each disk */
	VISIT_REMOVAL, /* any thread removes */
};

/* A thread's work on a trace without the lock, in which it may wait for the disk; on its stack. */
struct visit {
	TAILQ_ENTRY(visit) entry;
	enum visit_kind kind;
	struct trace *trace;	   /* a reference */
	_Atomic uint64_t since_ns; /* CLOCK_MONOTONIC: the disk has not answered since; UINT64_MAX: it is not asked */
	bool told;		   /* it was logged that the disk does not answer */
};

TAILQ_HEAD(visit_list, visit);

/* Two for each of four disks that do not answer, and one for the others. */
enum { KEEPERS_MAX = 9 };

struct keeper {
	struct storage *storage;
	pthread_t thread;
	_Atomic bool done;
};

struct storage {
	pthread_mutex_t lock;
	pthread_cond_t work; /* there is work for a keeper */
	pthread_cond_t gone; /* something was removed */
	char *log_dir;
	struct rights rights;
	dev_t device; /* of log_dir */
	struct storage_limits limits;
	struct trace_list traces;
	unsigned int running; /* counted traces that have not ended */
	uint64_t used;	      /* by counted traces */
	uint64_t wanted;      /* bytes that the keepers are to free below max_use, for a thread that waits for them */
	uint64_t in_flight;   /* by traces on the device of log_dir: sum of their `in_flight` */
	uint64_t lingering;   /* bytes there of removed segments that keepers have open: sum of their `lingers` */
	uint64_t credit; /* bytes removed for keep_free that may be used again */
	struct visit_list visits;
	struct keeper keepers[KEEPERS_MAX];
	unsigned int keeper_count;
	pthread_mutex_t core; /* held by the keeper that computes: they never use more than one core */
	_Atomic bool stopping;
};

/* The rights with which any thread opens, makes, renames and removes its files. */
static inline const struct rights *trace_rights(const struct trace *trace)
{
	return trace->rights ?: &trace->storage->rights;
}

/* ---- kept.c, with the lock held ---- */

void trace_use(struct trace *trace, uint64_t bytes);
void trace_unuse(struct trace *trace, uint64_t bytes);
void kept_set_state(struct trace *trace, struct kept *kept, enum kept_state state);
int kept_add(struct trace *trace, const struct kept *kept);
void kept_put(struct kept *kept); /* frees a removed segment that is in no list, unless it is held */

/* Notes a change of the segment, and wakes the thread that writes the manifest: the writer's, or a keeper. */
void kept_note(struct trace *trace, struct kept *kept);

/* The oldest closed segment that can be removed, of a stream or of all, or NULL. */
struct kept *kept_oldest(const struct kept_list *list, uint64_t mono_ns);
struct kept *trace_oldest(const struct trace *trace);

/* ---- trace_life.c ---- */

/* Initialises an empty trace, in no list. */
void trace_init(struct trace *trace, struct storage *storage, dev_t device, bool counted);

/* With the lock held. NULL: no memory. */
struct trace *trace_alloc(struct storage *storage, dev_t device, bool counted);

/*
 * Drops a reference, with the lock held. An ended trace that has no work left is freed, unless its bytes count for
 * max_use: then only the descriptor is closed, as there may be many of them.
 */
void trace_unref(struct trace *trace);

/*
 * A descriptor of the trace's folder, or of a stream's, or a negative errno. -ENOENT: it was
 * replaced by another one.
 */
int trace_open(const struct trace *trace);
int trace_open_stream(const struct trace *trace, enum iotr_stream stream);

/* ---- marks.c ---- */

/* Marks the segment as one that is about to be removed from the stream's folder; with `files` held, without the lock. */
void mark_make(struct trace *trace, int folder, const struct kept *kept);

/* With the lock held: a mark that was found becomes a change, -ENOMEM; marks go from one trace to another. */
int mark_add(struct trace *trace, const char *file, const struct segment_mark *found, enum iotr_stream stream);
void marks_move(struct trace *to, struct trace *from);

/* Removes the files of marks that the manifest has told of, or of all; without the lock. */
void marks_remove(struct trace *trace, bool all);

/* ---- visits.c, with the lock held ---- */

/*
 * The caller releases the lock in between. A visit that goes on calls visit_goes_on() now and then, without the
 * lock.
 */
void visit_begin(struct visit *visit, struct trace *trace, enum visit_kind kind);
void visit_end(struct visit *visit);

static inline void visit_goes_on(struct visit *visit)
{
	atomic_store(&visit->since_ns, clocks_mono_ns());
}

/* Whether a visit of that kind is at the disk; whether a visit of any kind gets no answer from it. */
bool disk_is_visited(const struct storage *storage, dev_t device, enum visit_kind kind);
bool disk_is_silent(const struct storage *storage, dev_t device);

/* Logs disks that have been silent for long, once for each visit. */
void visits_tell(struct storage *storage);

/* ---- removal.c, with the lock held, which is released meanwhile ---- */

/* Removes the files of a segment, to keep within the limit. False: they cannot be removed now. */
bool trace_remove(struct trace *trace, struct kept *kept, enum iotr_removal limit);

/*
 * Removes the whole folder of an ended trace without segments. The trace is freed then. False: not all of it could
 * be removed.
 */
bool trace_remove_folder(struct trace *trace);

/* ---- room.c ---- */

/*
 * Like trace_take() and trace_settle(), for the .gz of `kept`: only older segments of the session
 * make room, and none when it has ended. -ECANCELED: it was removed.
 */
int trace_take_packed(struct trace *trace, struct kept *kept, uint64_t bytes);
void trace_settle_packed(struct trace *trace, struct kept *kept, uint64_t taken, uint64_t written);

/*
 * With the lock held: bytes by which max_use is exceeded, without those that are being removed from disks that answer.
 */
uint64_t room_excess(const struct storage *storage);

/* The trace whose oldest segment goes next for max_use, on a disk that answers; NULL: none. With the lock held. */
struct trace *room_victim(const struct storage *storage);

/* ---- manifest_edit.c, without the lock ---- */

/*
 * Writes the trace's changes into its manifest.json. 0 or a negative errno; then the next call
 * tries it again, or trace_drop_untold() forgets them.
 */
int manifest_edit(struct trace *trace);
void trace_drop_untold(struct trace *trace);

/* ---- a keeper's work: keeper.c, which visits the disk for it; with the lock held ---- */

#define KEEPER_RETRY_NS 1000000000ULL /* after a lack of room, or another error; doubled with each try */
enum { KEEPER_RETRIES = 6 };	      /* tries for ended sessions; the last pause is a minute */

/*
 * Whether the error says that the file is not the one that was written: a link, a FIFO, another
 * user's file, or one that is too large.
 */
static inline bool keeper_is_strange(int error)
{
	return error == -EPERM || error == -ELOOP || error == -ENOTDIR || error == -EFBIG || error == -EBADMSG;
}

/*
 * tell.c: an ended session with changes whose manifest was last written at least `age_ns` ago, or NULL; and the write
 * of that manifest, which releases the lock meanwhile.
 */
struct trace *tell_find(const struct storage *storage, uint64_t age_ns);
void tell_run(struct trace *trace);

/* pack.c: a segment that is being compressed. */
struct pack {
	struct trace *trace;
	struct kept *kept;
	struct visit visit;
	int folder;
	char packed[SEGMENT_FILE_MAX]; /* NAME.gz */
	char part[SEGMENT_FILE_MAX];   /* NAME.gz.part */
	uint8_t sha256[SHA256_DIGEST_SIZE]; /* of the .gz */
};

/* Finds the oldest segment that waits. Compressing it wants a visit that has begun, and releases the lock. */
bool pack_find(const struct storage *storage, struct pack *pack);
void pack_run(struct pack *pack, struct compressor *compressor);

/* Starts the first keeper, which starts others as they are needed. 0 or a negative errno. Without the lock. */
int keepers_start(struct storage *storage);

/* Ends all of them: see storage_stop(). Without the lock. */
bool keepers_end(struct storage *storage);

/* ---- scan.c ---- */

/*
 * Adds the traces of ended sessions that it finds below the log folder; `recovered` as for
 * storage_new(). Before the keepers run.
 */
void storage_scan(struct storage *storage, const char *const *recovered);
