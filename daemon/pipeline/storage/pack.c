// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A closed segment becomes its .gz. It may be removed meanwhile, which changes its state: whatever is done to its
 * names is done under the lock of the names, while the state is still KEPT_COMPRESSING.
 */
#include "storage_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "inside.h"
#include "log.h"
#include "rest.h"

static enum rest rest_now(const struct pack *pack)
{
	return rest_of_segment(pack->kept->closed_ns);
}

/* Whoever removes the segment notes that before it ends the rest, so that one of both sees the other. */
static void rest_unless_removed(const struct pack *pack)
{
	rest_cpu(rest_now(pack));
	if (atomic_load(&pack->kept->unwanted))
		rest_cpu(REST_NOT);
}

/*
 * Waiting for the core must not count as waiting for the disk.
 *
 * A keeper that leaves the CPU to others may wait for it for long, and whoever waits for a lock of its waits with it: in
 * the daemon, and in the kernel, where a file system holds locks while it reads and writes, and may have everybody wait
 * who commits to its journal. So it does that only while it computes.
 */
static void computes(void *userdata, bool begins)
{
	struct pack *pack = userdata;
	struct storage *storage = pack->trace->storage;

	if (begins) {
		atomic_store(&pack->visit.since_ns, UINT64_MAX);
		pthread_mutex_lock(&storage->core);
		rest_unless_removed(pack);
	} else {
		rest_cpu(REST_NOT);
		pthread_mutex_unlock(&storage->core);
		rest_disk(rest_now(pack)); /* the segment may have become old meanwhile */
		visit_goes_on(&pack->visit);
	}
}

static int take_packed(void *userdata, uint64_t bytes)
{
	struct pack *pack = userdata;

	visit_goes_on(&pack->visit);
	if (atomic_load(&pack->trace->storage->stopping))
		return -ECANCELED;
	return trace_take_packed(pack->trace, pack->kept, bytes);
}

static void settle_packed(void *userdata, uint64_t bytes, uint64_t written)
{
	struct pack *pack = userdata;

	visit_goes_on(&pack->visit);
	trace_settle_packed(pack->trace, pack->kept, bytes, written);
}

static bool still_wanted(const struct pack *pack)
{
	struct storage *storage = pack->trace->storage;
	bool wanted;

	pthread_mutex_lock(&storage->lock);
	wanted = pack->kept->state == KEPT_COMPRESSING;
	pthread_mutex_unlock(&storage->lock);
	return wanted;
}

/* Created under the lock of the names, so that nobody removes the segment's files meanwhile. */
static int create_part(const struct pack *pack)
{
	int fd = -1, error = -ECANCELED;

	pthread_mutex_lock(&pack->trace->files);
	if (still_wanted(pack)) {
		unlinkat(pack->folder, pack->part, 0);
		fd = error = inside_create(pack->folder, pack->part, O_WRONLY);
	}
	pthread_mutex_unlock(&pack->trace->files);
	return fd < 0 ? error : fd;
}

/* Makes the .gz the segment: the text file is removed once the .gz is on the disk under its name. */
static int put_in_place(const struct pack *pack)
{
	struct storage *storage = pack->trace->storage;
	struct kept *kept = pack->kept;
	int error = -ECANCELED;

	pthread_mutex_lock(&pack->trace->files);
	if (still_wanted(pack)) {
		error = renameat(pack->folder, pack->part, pack->folder, pack->packed) < 0 || fsync(pack->folder) < 0
				? -errno
				: 0;
		if (!error && unlinkat(pack->folder, kept->name, 0) < 0 && errno != ENOENT)
			log_message(ABOUT(STORAGE_WAITS, .output = pack->trace->path, .error = errno),
				    "%s: %s is compressed, and cannot be removed: %s", pack->trace->path, kept->name,
				    strerror(errno));
	}
	pthread_mutex_lock(&storage->lock);
	if (!error && kept->state == KEPT_COMPRESSING) {
		trace_unuse(pack->trace, kept->bytes);
		kept->bytes = kept->packed;
		kept->packed = 0;
		memcpy(kept->stored_sha256, pack->sha256, sizeof(kept->stored_sha256));
		kept_set_state(pack->trace, kept, KEPT_COMPRESSED);
		kept_note(pack->trace, kept);
	}
	pthread_mutex_unlock(&storage->lock);
	pthread_mutex_unlock(&pack->trace->files);
	return error;
}

/*
 * The .gz gets the modification time of the text file, which tells the segment's age. The text file is synced
 * as well: after a power failure both may exist, and then the text file is the one that counts.
 */
static int finish(const struct pack *pack, int in, int out)
{
	struct stat status;

	if (fstat(in, &status) < 0)
		return -errno;
	if (futimens(out, (struct timespec[2]){ status.st_atim, status.st_mtim }) < 0 || fsync(out) < 0 || fdatasync(in) < 0)
		return -errno;
	return put_in_place(pack);
}

static int compress_segment(struct pack *pack, struct compressor *compressor)
{
	const struct compress_guard guard = { computes, take_packed, settle_packed, pack };
	_cleanup_close_ int in = -1, out = -1;
	int error;

	in = inside_open(pack->folder, pack->kept->name, O_RDONLY, UINT64_MAX);
	if (in < 0)
		return in;
	out = create_part(pack);
	if (out < 0)
		return out;
	rest_disk(rest_now(pack));
	error = compress_file(compressor, in, pack->kept->bytes, out, &guard, pack->sha256);
	rest_disk(REST_NOT);
	return error < 0 ? error : finish(pack, in, out);
}

/* The segment is tried again later, or stays uncompressed where nothing will change any more. */
static void put_off(struct trace *trace, struct kept *kept, int error)
{
	if (keeper_is_strange(error)) {
		log_message(ABOUT(STORAGE_WAITS, .output = trace->path, .error = -error),
			    "%s: %s stays uncompressed: %s", trace->path, kept->name, strerror(-error));
		kept_set_state(trace, kept, KEPT_PLAIN);
		return;
	}
	kept->retry_ns = clocks_mono_ns() + (KEEPER_RETRY_NS << kept->tries);
	if (kept->tries < KEEPER_RETRIES)
		kept->tries++;
	else if (trace->ended)
		kept_set_state(trace, kept, KEPT_PLAIN);
}

/* Cleans up after a compression that failed. */
static void give_up(struct pack *pack, int error)
{
	struct storage *storage = pack->trace->storage;
	struct kept *kept = pack->kept;

	pthread_mutex_lock(&pack->trace->files);
	if (pack->folder >= 0)
		unlinkat(pack->folder, pack->part, 0);
	pthread_mutex_unlock(&pack->trace->files);
	pthread_mutex_lock(&storage->lock);
	if (kept->state == KEPT_COMPRESSING) {
		trace_unuse(pack->trace, kept->packed);
		kept->packed = 0;
		kept_set_state(pack->trace, kept, KEPT_WAITING);
		put_off(pack->trace, kept, error);
		if (error == -ENOENT) /* it was removed, and not by the daemon */
			trace_remove(pack->trace, kept, IOTR_REMOVAL_UNRECORDED);
	}
	pthread_mutex_unlock(&storage->lock);
}

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

bool pack_find(const struct storage *storage, struct pack *pack)
{
	uint64_t now = clocks_mono_ns();
	struct trace *trace;

	pack->kept = NULL;
	TAILQ_FOREACH (trace, &storage->traces, entry) {
		struct kept *kept = trace->waiting ? oldest_waiting(trace, now) : NULL;

		if (!kept || (pack->kept && kept->closed_ns >= pack->kept->closed_ns) ||
		    disk_is_visited(storage, trace->device, VISIT_WORK))
			continue;
		pack->trace = trace;
		pack->kept = kept;
	}
	return pack->kept;
}

void pack_run(struct pack *pack, struct compressor *compressor)
{
	struct storage *storage = pack->trace->storage;
	const struct rights *before;
	int error;

	pack->kept->held = gettid();
	kept_set_state(pack->trace, pack->kept, KEPT_COMPRESSING);
	snprintf(pack->packed, sizeof(pack->packed), "%s%s", pack->kept->name, segment_endings[SEGMENT_PACKED]);
	snprintf(pack->part, sizeof(pack->part), "%s%s", pack->kept->name, segment_endings[SEGMENT_PACKED_PART]);
	pthread_mutex_unlock(&storage->lock);
	before = rights_use(trace_rights(pack->trace));
	pack->folder = trace_open_stream(pack->trace, pack->kept->stream);
	error = pack->folder < 0 ? pack->folder : compress_segment(pack, compressor);
	if (error < 0)
		give_up(pack, error);
	if (error < 0 && error != -ECANCELED && error != -ENOENT)
		log_debug("%s: %s is not compressed now: %s", pack->trace->path, pack->kept->name, strerror(-error));
	if (pack->folder >= 0)
		close(pack->folder);
	rights_use(before);
	pthread_mutex_lock(&storage->lock);
	pack->kept->held = 0;
	storage->lingering -= pack->kept->lingers;
	pthread_cond_broadcast(&storage->gone);
	kept_put(pack->kept);
}
