// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The thread behind all sessions: compresses closed segments, tells it to the manifests of ended
 * sessions, and removes what is too much after the limits were changed. It runs when nobody else
 * wants the CPU or the disk, and never uses more than one core.
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
#include "log.h"

#define RETRY_NS    1000000000ULL /* where there was no room, or an error; then twice as long */
#define RETRIES_MAX 6		  /* of ended sessions; and by then it is a minute */
#define TELL_NS	    1000000000ULL /* a manifest is not written for each segment of many */
#define MODE	    0640

/* A segment being compressed. */
struct job {
	struct trace *trace;
	struct kept *kept;
	int folder;
	char packed[TRACE_NAME_MAX + 16]; /* names */
	char part[TRACE_NAME_MAX + 16];
};

/*
 * While it holds a lock it must not wait for a CPU that nobody else wants: others would wait with
 * it. So it is at rest only while it compresses and writes.
 */
static void set_rest(bool rest)
{
	const struct sched_param none = { 0 };

	sched_setscheduler(0, rest ? SCHED_IDLE : SCHED_OTHER, &none);
}

static void rest_from_disk(void)
{
	if (syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0,
		    IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0)) < 0)
		log_warning("compression has no idle I/O priority: %s", strerror(errno));
}

/* ---- one segment ---- */

static int take_packed(void *userdata, uint64_t bytes)
{
	struct job *job = userdata;
	int error;

	if (atomic_load(&job->trace->storage->stopping))
		return -ECANCELED;
	set_rest(false);
	error = trace_take_packed(job->trace, job->kept, bytes);
	set_rest(true);
	return error;
}

static void settle_packed(void *userdata, uint64_t bytes, uint64_t written)
{
	struct job *job = userdata;

	set_rest(false);
	trace_settle_packed(job->trace, job->kept, bytes, written);
	set_rest(true);
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

/* Made while nobody removes the segment's files. */
static int create_part(const struct job *job)
{
	int fd = -1, error = -ECANCELED;

	pthread_mutex_lock(&job->trace->files);
	if (still_wanted(job)) {
		unlinkat(job->folder, job->part, 0);
		fd = openat(job->folder, job->part,
			    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, MODE);
		error = -errno;
	}
	pthread_mutex_unlock(&job->trace->files);
	return fd < 0 ? error : fd;
}

/* Compressed it is the segment; the text goes. */
static int put_in_place(const struct job *job)
{
	struct storage *storage = job->trace->storage;
	struct kept *kept = job->kept;
	int error = -ECANCELED;

	pthread_mutex_lock(&job->trace->files);
	if (still_wanted(job)) {
		error = renameat(job->folder, job->part, job->folder, job->packed) < 0 ? -errno : 0;
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

/* It keeps the text's time, which says how old it is. */
static int finish(const struct job *job, int in, int out)
{
	struct stat status;

	if (fstat(in, &status) < 0)
		return -errno;
	if (futimens(out, (struct timespec[2]){ status.st_atim, status.st_mtim }) < 0 ||
	    fchown(out, status.st_uid, status.st_gid) < 0 || fsync(out) < 0)
		return -errno;
	posix_fadvise(out, 0, 0, POSIX_FADV_DONTNEED);
	return put_in_place(job);
}

static int compress_segment(struct job *job, struct compressor *compressor)
{
	const struct compress_guard guard = { take_packed, settle_packed, job };
	_cleanup_close_ int in = -1, out = -1;
	int error;

	in = openat(job->folder, job->kept->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (in < 0)
		return -errno;
	out = create_part(job);
	if (out < 0)
		return out;
	set_rest(true);
	error = compress_file(compressor, in, job->kept->bytes, out, &guard);
	set_rest(false);
	return error < 0 ? error : finish(job, in, out);
}

/* The text waits for another time, or, where nothing will change any more, stays. */
static void put_off(struct trace *trace, struct kept *kept)
{
	kept->retry_ns = clocks_mono_ns() + (RETRY_NS << kept->tries);
	if (kept->tries < RETRIES_MAX)
		kept->tries++;
	else if (trace->ended)
		kept_set_state(trace, kept, KEPT_PLAIN);
}

/* Nothing came of it. */
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
		put_off(job->trace, kept);
		if (error == -ENOENT) /* somebody else removed it */
			trace_remove(job->trace, kept);
	}
	pthread_mutex_unlock(&storage->lock);
}

/* ---- what there is to do; with the lock held ---- */

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

		if (!kept || (job->kept && kept->closed_ns >= job->kept->closed_ns))
			continue;
		job->trace = trace;
		job->kept = kept;
	}
	return job->kept;
}

static bool do_job(struct storage *storage, struct compressor *compressor)
{
	struct job job;
	int error;

	if (!find_job(storage, &job))
		return false;
	job.trace->references++;
	job.kept->held = true;
	kept_set_state(job.trace, job.kept, KEPT_COMPRESSING);
	snprintf(job.packed, sizeof(job.packed), "%s.gz", job.kept->name);
	snprintf(job.part, sizeof(job.part), "%s.gz.part", job.kept->name);
	pthread_mutex_unlock(&storage->lock);
	job.folder = trace_open_stream(job.trace, job.kept->stream);
	error = job.folder < 0 ? -errno : compress_segment(&job, compressor);
	if (error < 0)
		give_up(&job, error);
	if (error < 0 && error != -ECANCELED && error != -ENOENT)
		log_debug("%s: %s waits: %s", job.trace->path, job.kept->name, strerror(-error));
	if (job.folder >= 0)
		close(job.folder);
	pthread_mutex_lock(&storage->lock);
	job.kept->held = false;
	kept_put(job.kept);
	trace_unref(job.trace);
	return true;
}

/* What cannot be told to a manifest is not tried for ever, and not where that is gone. */
static void drop_changes(struct trace *trace)
{
	struct trace_change change;

	while (trace_next_change(trace, &change))
		;
	trace_drop_untold(trace);
	trace->tell_tries = 0;
}

/* A full disk has room again some time. */
static void tell_later(struct trace *trace, int error)
{
	bool last = trace->tell_tries == RETRIES_MAX || error == -EBADMSG ||
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

/* The manifests of ended sessions, not told for so long. False: none was written. */
static bool tell_changes(struct storage *storage, uint64_t age_ns)
{
	uint64_t now = clocks_mono_ns();
	struct trace *trace;
	int error;

	TAILQ_FOREACH (trace, &storage->traces, entry)
		if (has_to_tell(trace, now) && trace->told_ns + age_ns <= now)
			break;
	if (!trace)
		return false;
	trace->references++;
	trace->told_ns = now;
	pthread_mutex_unlock(&storage->lock);
	error = manifest_edit(trace);
	if (error < 0)
		tell_later(trace, error);
	else /* what is left came meanwhile, as room for the manifest costs a segment */
		trace->tell_tries = 0;
	pthread_mutex_lock(&storage->lock);
	trace_unref(trace);
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

static void rest(struct storage *storage)
{
	uint64_t until = clocks_mono_ns() + RETRY_NS;
	struct timespec time = { (time_t)(until / 1000000000), (long)(until % 1000000000) };

	if (anything_waits(storage))
		pthread_cond_timedwait(&storage->work, &storage->lock, &time);
	else
		pthread_cond_wait(&storage->work, &storage->lock);
}

void *keeper_run(void *argument)
{
	struct storage *storage = argument;
	struct compressor *compressor = compressor_new(COMPRESS_LEVEL);

	rest_from_disk();
	pthread_mutex_lock(&storage->lock);
	while (!atomic_load(&storage->stopping)) {
		storage_trim(storage);
		/* What is told only when all is compressed has been missed by verify for long. */
		if (tell_changes(storage, TELL_NS))
			continue;
		if (compressor && do_job(storage, compressor))
			continue;
		if (!tell_changes(storage, 0) && !atomic_load(&storage->stopping))
			rest(storage);
	}
	while (tell_changes(storage, 0))
		;
	pthread_mutex_unlock(&storage->lock);
	compressor_free(compressor);
	return NULL;
}
