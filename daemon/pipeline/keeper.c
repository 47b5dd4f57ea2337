// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The keepers, threads for all sessions together: they compress closed segments, note changed segments in the
 * manifests of ended sessions, and remove segments when limits were changed. They have idle priority for CPU
 * and disk, and never use more than one core.
 *
 * One keeper is always free: one that accesses a disk may not return for long. For each disk at most one keeper
 * compresses and writes manifests, so that a disk that does not answer holds up no more of them.
 */
#include "storage_private.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ioprio.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cleanup.h"
#include "compress.h"
#include "inside.h"
#include "log.h"
#include "thread.h"

#define RETRY_NS    1000000000ULL /* after a lack of room, or another error; doubled with each try */
#define RETRIES_MAX 6		  /* tries for ended sessions; the last pause is a minute */
/* Between two writes of a manifest, so that it is not written for each of many segments */
#define TELL_NS	    1000000000ULL

/* A segment being compressed. */
struct job {
	struct trace *trace;
	struct kept *kept;
	struct visit visit;
	int folder;
	char packed[SEGMENT_FILE_MAX]; /* NAME.gz */
	char part[SEGMENT_FILE_MAX];   /* NAME.gz.part */
};

/*
 * A keeper with SCHED_IDLE may wait for a CPU for long, and if it holds a lock, other threads wait
 * with it. So it has this priority only while it compresses and writes.
 */
static void set_idle(bool idle)
{
	const struct sched_param none = { 0 };

	sched_setscheduler(0, idle ? SCHED_IDLE : SCHED_OTHER, &none);
}

static void set_idle_io(void)
{
	if (syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0,
		    IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0)) < 0)
		log_warning("compression has no idle I/O priority: %s", strerror(errno));
}

/* ---- one segment ---- */

/* Waiting for the core must not count as waiting for the disk. */
static void computes(void *userdata, bool begins)
{
	struct job *job = userdata;
	struct storage *storage = job->trace->storage;

	if (begins) {
		atomic_store(&job->visit.since_ns, UINT64_MAX);
		pthread_mutex_lock(&storage->core);
	} else {
		pthread_mutex_unlock(&storage->core);
		visit_goes_on(&job->visit);
	}
}

static int take_packed(void *userdata, uint64_t bytes)
{
	struct job *job = userdata;
	int error;

	visit_goes_on(&job->visit);
	if (atomic_load(&job->trace->storage->stopping))
		return -ECANCELED;
	set_idle(false);
	error = trace_take_packed(job->trace, job->kept, bytes);
	set_idle(true);
	return error;
}

static void settle_packed(void *userdata, uint64_t bytes, uint64_t written)
{
	struct job *job = userdata;

	visit_goes_on(&job->visit);
	set_idle(false);
	trace_settle_packed(job->trace, job->kept, bytes, written);
	set_idle(true);
}

static bool still_wanted(const struct job *job)
{
	struct storage *storage = job->trace->storage;
	bool wanted;

	pthread_mutex_lock(&storage->lock);
	wanted = job->kept->state == KEPT_COMPRESSING;
	pthread_mutex_unlock(&storage->lock);
	return wanted;
}

/* Created under the lock of the names, so that nobody removes the segment's files meanwhile. */
static int create_part(const struct job *job)
{
	int fd = -1, error = -ECANCELED;

	pthread_mutex_lock(&job->trace->files);
	if (still_wanted(job)) {
		unlinkat(job->folder, job->part, 0);
		fd = error = inside_create(job->folder, job->part, O_WRONLY);
	}
	pthread_mutex_unlock(&job->trace->files);
	return fd < 0 ? error : fd;
}

/* Makes the .gz the segment: the text file is removed once the .gz is on the disk under its name. */
static int put_in_place(const struct job *job)
{
	struct storage *storage = job->trace->storage;
	struct kept *kept = job->kept;
	int error = -ECANCELED;

	pthread_mutex_lock(&job->trace->files);
	if (still_wanted(job)) {
		error = renameat(job->folder, job->part, job->folder, job->packed) < 0 || fsync(job->folder) < 0
				? -errno
				: 0;
		if (!error && unlinkat(job->folder, kept->name, 0) < 0 && errno != ENOENT)
			log_warning("%s: %s cannot be removed: %s", job->trace->path, kept->name,
				    strerror(errno));
	}
	pthread_mutex_lock(&storage->lock);
	if (!error && kept->state == KEPT_COMPRESSING) {
		trace_unuse(job->trace, kept->bytes);
		kept->bytes = kept->packed;
		kept->packed = 0;
		kept_set_state(job->trace, kept, KEPT_COMPRESSED);
		kept_note(job->trace, kept);
	}
	pthread_mutex_unlock(&storage->lock);
	pthread_mutex_unlock(&job->trace->files);
	return error;
}

/*
 * The .gz gets the modification time of the text file, which tells the segment's age. The text file is synced
 * as well: after a power failure both may exist, and then the text file is the one that counts.
 */
static int finish(const struct job *job, int in, int out)
{
	struct stat status;

	if (fstat(in, &status) < 0)
		return -errno;
	if (futimens(out, (struct timespec[2]){ status.st_atim, status.st_mtim }) < 0 || fsync(out) < 0 || fdatasync(in) < 0)
		return -errno;
	posix_fadvise(out, 0, 0, POSIX_FADV_DONTNEED);
	return put_in_place(job);
}

static int compress_segment(struct job *job, struct compressor *compressor)
{
	const struct compress_guard guard = { computes, take_packed, settle_packed, job };
	_cleanup_close_ int in = -1, out = -1;
	int error;

	in = inside_open(job->folder, job->kept->name, O_RDONLY, UINT64_MAX);
	if (in < 0)
		return in;
	out = create_part(job);
	if (out < 0)
		return out;
	set_idle(true);
	error = compress_file(compressor, in, job->kept->bytes, out, &guard);
	set_idle(false);
	return error < 0 ? error : finish(job, in, out);
}

/*
 * Whether the error says that the file is not the one that was written: a link, a FIFO, another
 * user's file, or one that is too large.
 */
static bool is_strange(int error)
{
	return error == -EPERM || error == -ELOOP || error == -ENOTDIR || error == -EFBIG || error == -EBADMSG;
}

/* The segment is tried again later, or stays uncompressed where nothing will change any more. */
static void put_off(struct trace *trace, struct kept *kept, int error)
{
	if (is_strange(error)) {
		log_warning("%s: %s stays as it is: %s", trace->path, kept->name, strerror(-error));
		kept_set_state(trace, kept, KEPT_PLAIN);
		return;
	}
	kept->retry_ns = clocks_mono_ns() + (RETRY_NS << kept->tries);
	if (kept->tries < RETRIES_MAX)
		kept->tries++;
	else if (trace->ended)
		kept_set_state(trace, kept, KEPT_PLAIN);
}

/* Cleans up after a compression that failed. */
static void give_up(struct job *job, int error)
{
	struct storage *storage = job->trace->storage;
	struct kept *kept = job->kept;

	pthread_mutex_lock(&job->trace->files);
	if (job->folder >= 0)
		unlinkat(job->folder, job->part, 0);
	pthread_mutex_unlock(&job->trace->files);
	pthread_mutex_lock(&storage->lock);
	if (kept->state == KEPT_COMPRESSING) {
		trace_unuse(job->trace, kept->packed);
		kept->packed = 0;
		kept_set_state(job->trace, kept, KEPT_WAITING);
		put_off(job->trace, kept, error);
		if (error == -ENOENT) /* it was removed, and not by the daemon */
			trace_remove(job->trace, kept);
	}
	pthread_mutex_unlock(&storage->lock);
}

/* ---- jobs; with the lock held ---- */

static struct kept *oldest_waiting(const struct trace *trace, uint64_t now)
{
	struct kept *kept, *oldest = NULL;

	for (int stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		TAILQ_FOREACH (kept, &trace->kept[stream], entry) {
			if (kept->state != KEPT_WAITING || kept->retry_ns > now)
				continue;
			if (!oldest || kept->closed_ns < oldest->closed_ns)
				oldest = kept;
			break;
		}
	return oldest;
}

static bool find_job(struct storage *storage, struct job *job)
{
	uint64_t now = clocks_mono_ns();
	struct trace *trace;

	job->kept = NULL;
	TAILQ_FOREACH (trace, &storage->traces, entry) {
		struct kept *kept = trace->waiting ? oldest_waiting(trace, now) : NULL;

		if (!kept || (job->kept && kept->closed_ns >= job->kept->closed_ns) ||
		    disk_is_visited(storage, trace->device, VISIT_WORK))
			continue;
		job->trace = trace;
		job->kept = kept;
	}
	return job->kept;
}

/* Compresses the oldest waiting segment. The compressor is made at first use, as many keepers never need one. */
static bool do_job(struct storage *storage, struct compressor **compressor)
{
	const struct rights *before;
	struct job job;
	int error;

	if (!find_job(storage, &job))
		return false;
	*compressor = *compressor ?: compressor_new(COMPRESS_LEVEL);
	if (!*compressor)
		return false;
	visit_begin(&job.visit, job.trace, VISIT_WORK);
	job.kept->held = true;
	kept_set_state(job.trace, job.kept, KEPT_COMPRESSING);
	snprintf(job.packed, sizeof(job.packed), "%s%s", job.kept->name, segment_endings[SEGMENT_PACKED]);
	snprintf(job.part, sizeof(job.part), "%s%s", job.kept->name, segment_endings[SEGMENT_PACKED_PART]);
	pthread_mutex_unlock(&storage->lock);
	before = rights_use(trace_rights(job.trace));
	job.folder = trace_open_stream(job.trace, job.kept->stream);
	error = job.folder < 0 ? job.folder : compress_segment(&job, *compressor);
	if (error < 0)
		give_up(&job, error);
	if (error < 0 && error != -ECANCELED && error != -ENOENT)
		log_debug("%s: %s waits: %s", job.trace->path, job.kept->name, strerror(-error));
	if (job.folder >= 0)
		close(job.folder);
	rights_use(before);
	pthread_mutex_lock(&storage->lock);
	job.kept->held = false;
	kept_put(job.kept);
	visit_end(&job.visit);
	return true;
}

/* Forgets changes that cannot be written to the manifest, after some tries, or at once where the manifest is gone. */
static void drop_changes(struct trace *trace)
{
	struct trace_change change;

	while (trace_next_change(trace, &change))
		;
	trace_drop_untold(trace);
	trace->tell_tries = 0;
}

/* Puts the write of a manifest off, as a full disk may have room again later; gives up after the last try. */
static void tell_later(struct trace *trace, int error)
{
	bool last = trace->tell_tries == RETRIES_MAX || is_strange(error) ||
		    atomic_load(&trace->storage->stopping);

	if (error != -ENOENT && (last || !trace->tell_tries))
		log_warning("%s: the manifest cannot be written%s: %s", trace->path,
			    last ? "" : " now", strerror(-error));
	if (last || error == -ENOENT)
		drop_changes(trace);
	else
		trace->tell_ns = clocks_mono_ns() + (RETRY_NS << trace->tell_tries++);
}

static bool has_to_tell(const struct trace *trace, uint64_t now)
{
	return trace->ended && !trace->recovering &&
	       (trace_has_changes(trace) || trace->untold_count) &&
	       (trace->tell_ns <= now || atomic_load(&trace->storage->stopping));
}

/*
 * Writes the changes of an ended session whose manifest was last written at least `age_ns` ago to
 * that manifest. False: none was due.
 */
static bool tell_changes(struct storage *storage, uint64_t age_ns)
{
	uint64_t now = clocks_mono_ns();
	const struct rights *before;
	struct trace *trace;
	struct visit visit;
	int error;

	TAILQ_FOREACH (trace, &storage->traces, entry)
		if (has_to_tell(trace, now) && trace->told_ns + age_ns <= now &&
		    !disk_is_visited(storage, trace->device, VISIT_WORK))
			break;
	if (!trace)
		return false;
	visit_begin(&visit, trace, VISIT_WORK);
	trace->told_ns = now;
	pthread_mutex_unlock(&storage->lock);
	before = rights_use(trace_rights(trace));
	error = manifest_edit(trace);
	rights_use(before);
	if (error < 0)
		tell_later(trace, error);
	else /* changes that are left came meanwhile, as making room for the manifest may remove a segment */
		trace->tell_tries = 0;
	pthread_mutex_lock(&storage->lock);
	visit_end(&visit);
	return true;
}

static bool anything_waits(const struct storage *storage)
{
	const struct trace *trace;

	TAILQ_FOREACH (trace, &storage->traces, entry)
		if (trace->waiting || trace->tell_tries)
			return true;
	return false;
}

/*
 * Waits for work. It wakes each second while threads wait for disks, to log those that do not
 * answer, and to go on with others.
 */
static void wait_for_work(struct storage *storage)
{
	uint64_t until = clocks_mono_ns() + RETRY_NS;
	struct timespec time = { (time_t)(until / 1000000000), (long)(until % 1000000000) };

	visits_tell(storage);
	if (anything_waits(storage) || !TAILQ_EMPTY(&storage->visits))
		pthread_cond_timedwait(&storage->work, &storage->lock, &time);
	else
		pthread_cond_wait(&storage->work, &storage->lock);
}

static void *run(void *argument)
{
	struct keeper *keeper = argument;
	struct storage *storage = keeper->storage;
	struct compressor *compressor = NULL;

	set_idle_io();
	pthread_mutex_lock(&storage->lock);
	while (!atomic_load(&storage->stopping)) {
		storage_trim(storage);
		/*
		 * Changes are written before all is compressed, as `verify` would miss them in the
		 * manifest for long.
		 */
		if (tell_changes(storage, TELL_NS))
			continue;
		if (do_job(storage, &compressor))
			continue;
		if (!tell_changes(storage, 0) && !atomic_load(&storage->stopping))
			wait_for_work(storage);
	}
	while (tell_changes(storage, 0))
		;
	pthread_mutex_unlock(&storage->lock);
	compressor_free(compressor);
	atomic_store(&keeper->done, true);
	return NULL;
}

int keeper_start(struct storage *storage)
{
	struct keeper *keeper = &storage->keepers[storage->keeper_count];
	int error;

	keeper->storage = storage;
	error = thread_start(&keeper->thread, run, keeper);
	if (!error)
		storage->keeper_count++;
	return error;
}
