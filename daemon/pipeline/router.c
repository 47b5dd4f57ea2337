// SPDX-License-Identifier: GPL-2.0-or-later
#include "router.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "names.h"
#include "queue.h"
#include "recorder.h"
#include "row.h"
#include "runs.h"
#include "writer/writer.h"

#define SESSIONS 64
/*
 * Sessions of CSV in the clear that want a row, from which on its line is made once for all of them, by the consumer
 * thread. With fewer it would take more of this thread's time than copying the row for each, and while it is busy the
 * rings fill.
 */
#define SHARING 4

struct router {
	struct router_config config;
	pthread_mutex_t lock; /* of writers, recorders and their masks; held during a drain */
	_Atomic int waiting;  /* threads that want the lock */
	uint64_t attached;    /* sessions that have a writer */
	struct writer *writers[SESSIONS];
	uint64_t lined;	      /* of these, the ones whose rows have the same lines */
	bool shares;	      /* there are enough of these that a row may be shared */
	struct runs *runs;    /* rows that many of these want; NULL: there were none */
	uint64_t recording; /* sessions that have a recorder */
	struct recorder *recorders[SESSIONS];
	uint64_t tallied; /* sessions whose rows are counted in `tally` */
	struct router_tally *tally;
	bool name_lost; /* the row in hand has a name that is unknown */
	/* Written by the consumer thread alone. */
	_Atomic uint64_t rows;
	_Atomic uint64_t malformed;
	_Atomic uint64_t names_missing;
};

#define RECORD_SIZE(id, name, ...) [IOTR_##id] = sizeof(struct iotr_##name##_record),

static const size_t record_sizes[IOTR_STREAM_COUNT] = { IOTR_STREAMS(RECORD_SIZE) };

int router_new(const struct router_config *config, struct router **ret)
{
	struct router *router = calloc(1, sizeof(*router));

	if (!router)
		return -ENOMEM;
	router->config = *config;
	pthread_mutex_init(&router->lock, NULL);
	*ret = router;
	return 0;
}

void router_free(struct router *router)
{
	if (!router)
		return;
	runs_free(router->runs);
	pthread_mutex_destroy(&router->lock);
	free(router);
}

/* Takes the lock from a thread that is not the consumer. */
static void lock_outside(struct router *router)
{
	atomic_fetch_add(&router->waiting, 1);
	pthread_mutex_lock(&router->lock);
	atomic_fetch_sub(&router->waiting, 1);
}

static void set_lined(struct router *router, uint64_t lined)
{
	router->lined = lined;
	router->shares = __builtin_popcountll(lined) >= SHARING;
}

/* Attaches either a writer or a recorder; the other is NULL. */
static int attach(struct router *router, unsigned int session, struct writer *writer,
		  struct recorder *recorder)
{
	int result = -EBUSY;

	if (session >= SESSIONS)
		return -EINVAL;
	lock_outside(router);
	if (!((router->attached | router->recording) >> session & 1)) {
		router->writers[session] = writer;
		router->attached |= (uint64_t)!!writer << session;
		set_lined(router, router->lined | (uint64_t)(writer && writer_takes_lines(writer)) << session);
		router->recorders[session] = recorder;
		router->recording |= (uint64_t)!!recorder << session;
		result = 0;
	}
	pthread_mutex_unlock(&router->lock);
	return result;
}

int router_attach(struct router *router, unsigned int session, struct writer *writer)
{
	return attach(router, session, writer, NULL);
}

int router_attach_recorder(struct router *router, unsigned int session, struct recorder *recorder)
{
	return attach(router, session, NULL, recorder);
}

void router_detach(struct router *router, unsigned int session)
{
	if (session >= SESSIONS)
		return;
	lock_outside(router);
	if (router->writers[session])
		writer_queue_wake(router->writers[session]);
	router->writers[session] = NULL;
	router->attached &= ~(1ULL << session);
	set_lined(router, router->lined & ~(1ULL << session));
	router->recorders[session] = NULL;
	router->recording &= ~(1ULL << session);
	pthread_mutex_unlock(&router->lock);
}

void router_tally_set(struct router *router, uint64_t sessions, struct router_tally *tally)
{
	lock_outside(router);
	router->tallied = tally ? sessions : 0;
	router->tally = tally;
	pthread_mutex_unlock(&router->lock);
}

void router_begin(struct router *router)
{
	pthread_mutex_lock(&router->lock);
}

static void wake_writers(struct router *router)
{
	for (uint64_t left = router->attached; left; left &= left - 1)
		writer_queue_wake(router->writers[__builtin_ctzll(left)]);
}

void router_end(struct router *router)
{
	if (router->runs) {
		runs_end_all(router->runs);
		runs_drained(router->runs);
	}
	wake_writers(router);
	pthread_mutex_unlock(&router->lock);
}

/* Between two rows: a thread that waits for the lock gets it before the drain goes on. It may detach sessions. */
static void lend_lock(struct router *router)
{
	if (router->runs)
		runs_end_all(router->runs);
	pthread_mutex_unlock(&router->lock);
	while (atomic_load(&router->waiting))
		sched_yield();
	pthread_mutex_lock(&router->lock);
}

static void count(_Atomic uint64_t *counter)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1,
			      memory_order_relaxed);
}

static struct row_text text_of(const struct names_path *path)
{
	return (struct row_text){ path->text, path->length };
}

/* Resolves a name that is unknown, or has a parent that is: it may still be in the ring of names. */
static bool resolve_late(struct router *router, uint64_t id, struct names_path *path)
{
	bool known;

	if (router->config.drain_names && id != IOTR_NAME_LOST)
		router->config.drain_names(router->config.userdata);
	known = names_resolve(router->config.names, id, path);
	if (!known || !path->complete) {
		names_resend(router->config.names, id);
		count(&router->names_missing);
		router->name_lost = true;
	}
	return known;
}

static bool resolve(struct router *router, uint64_t id, struct names_path *path)
{
	if (names_resolve(router->config.names, id, path) && path->complete)
		return true;
	return resolve_late(router, id, path);
}

static void describe_file(struct router *router, const struct iotr_file *file, struct row *row)
{
	struct names *names = router->config.names;
	struct names_path path = { .fs_type = "" };

	if (file->name && resolve(router, file->name, &path))
		row->path = text_of(&path);
	row->fs_type = path.fs_type;
	if (file->device && (path.device != file->device || !path.fs_type[0]))
		row->fs_type = names_device_fs(names, file->device);
}

/*
 * Looking for the second name may drain the ring, which may move the first one's text, or free it: that is looked up
 * again, whether the second was found or not.
 */
static void describe_second(struct router *router, const struct iotr_vfs_record *record,
			    struct row *row)
{
	struct names_path path;

	if (resolve(router, record->name2, &path))
		row->path2 = text_of(&path);
	row->path = (struct row_text){ 0 };
	if (record->file.name && names_resolve(router->config.names, record->file.name, &path))
		row->path = text_of(&path);
}

/* How a record with a file begins; with FILES (see streams.def) the file is followed by the second name. */
struct file_record {
	struct iotr_record head;
	struct iotr_file file;
};

static void describe_FILE(struct router *router, struct row *row)
{
	describe_file(router, &((const struct file_record *)row->record)->file, row);
}

static void describe_FILES(struct router *router, struct row *row)
{
	const struct iotr_vfs_record *record = (const void *)row->record;

	describe_file(router, &record->file, row);
	if (record->name2)
		describe_second(router, record, row);
}

/* Takes the path from the name in the row, otherwise from the last name that came for the inode. */
static void describe_inode(struct router *router, uint64_t name, uint32_t device, uint64_t inode, struct row *row)
{
	struct names_path path;

	if (inode == IOTR_UNKNOWN || !device)
		return;
	if (name ? resolve(router, name, &path) :
		   names_inode(router->config.names, device, inode, &path))
		row->path = text_of(&path);
}

static void describe_DISK(struct router *router, struct row *row)
{
	const struct iotr_block_record *record = (const void *)row->record;

	describe_inode(router, record->name, record->inode_device, record->inode, row);
}

static void describe_INODE(struct router *router, struct row *row)
{
	const struct iotr_file *file = &((const struct file_record *)row->record)->file;

	describe_inode(router, file->name, file->device, file->inode, row);
}

static void describe_NO_FILE(struct router *router, struct row *row)
{
	(void)router, (void)row;
}

/* Looks up what the rows of a stream name. */
static void (*const describers[IOTR_STREAM_COUNT])(struct router *, struct row *) = {
#define DESCRIBER(id, name, folder, object, calls, names, ...) [IOTR_##id] = describe_##names,
	IOTR_STREAMS(DESCRIBER)
};

/* That the records begin as their describers read them. */
#define SAME_PLACE(record, member, other)                                                                              \
	_Static_assert(offsetof(record, member) == offsetof(other, member), "records that name files begin alike");
#define BEGINS_FILE(record) SAME_PLACE(record, file, struct file_record)
#define BEGINS_INODE(record) BEGINS_FILE(record)
#define BEGINS_FILES(record) BEGINS_FILE(record) SAME_PLACE(record, name2, struct iotr_vfs_record)
#define BEGINS_DISK(record) SAME_PLACE(record, name, struct iotr_block_record)
#define BEGINS_NO_FILE(record)
#define BEGINS(id, name, folder, object, calls, names, ...) BEGINS_##names(struct iotr_##name##_record)
IOTR_STREAMS(BEGINS)

static void on_run(const struct queue_run *run, uint64_t sessions, void *userdata)
{
	struct router *router = userdata;

	for (; sessions; sessions &= sessions - 1)
		writer_queue_run(router->writers[__builtin_ctzll(sessions)], run);
}

/* Keeps the row once for those of its sessions that can share it, if there are enough of them. Returns those sessions. */
static uint64_t share(struct router *router, const struct row *row)
{
	uint64_t sessions = row->record->sessions & router->lined;

	if (!router->runs && runs_new(on_run, router, &router->runs) < 0)
		return 0;
	if (__builtin_popcountll(sessions) >= SHARING)
		return runs_add(router->runs, row, sessions) ? sessions : 0;
	runs_end(router->runs, row->record->stream); /* its rows stay in order */
	return 0;
}

size_t router_row(struct router *router, const struct iotr_record *record, size_t size)
{
	struct row row = { .record = record, .fs_type = "" };
	uint64_t shared = 0;

	if (atomic_load_explicit(&router->waiting, memory_order_relaxed))
		lend_lock(router);
	count(&router->rows);
	if (size < sizeof(*record) || record->stream >= IOTR_STREAM_COUNT || record->size > size ||
	    record->size != record_sizes[record->stream]) {
		count(&router->malformed);
		return size;
	}
	if (record->sessions & router->tallied)
		router->tally->rows[record->stream][record->operation % IOTR_OPERATIONS_MAX]++;
	router->name_lost = false;
	describers[record->stream](router, &row);
	row.name_lost = router->name_lost || record->unread;
	if (router->shares) /* nearly always there are not enough sessions, which is known without a look at the row */
		shared = share(router, &row);
	for (uint64_t left = record->sessions & router->attached & ~shared; left; left &= left - 1)
		writer_queue_row(router->writers[__builtin_ctzll(left)], &row);
	for (uint64_t left = record->sessions & router->recording; left; left &= left - 1)
		recorder_row(router->recorders[__builtin_ctzll(left)], &row);
	return record->size;
}

void router_counts(const struct router *router, struct router_counts *counts)
{
	counts->rows = atomic_load_explicit(&router->rows, memory_order_relaxed);
	counts->malformed = atomic_load_explicit(&router->malformed, memory_order_relaxed);
	counts->names_missing = atomic_load_explicit(&router->names_missing, memory_order_relaxed);
}
