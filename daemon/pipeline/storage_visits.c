// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Visits: which threads wait for which disks. A thread that visits a disk which does not answer stays until it
 * does, and all others keep away from that disk.
 */
#include "storage_private.h"

#include "log.h"

#define SILENT_NS 1000000000ULL /* a disk that has not answered for so long is left alone */
#define TELL_NS	  5000000000ULL

/* Starts another keeper when all of them are at disks, so that one is free for the other disks. */
static void keep_one_free(struct storage *storage)
{
	const struct visit *visit;
	unsigned int away = 0;

	TAILQ_FOREACH (visit, &storage->visits, entry)
		away += visit->kind != VISIT_REMOVAL;
	if (away >= storage->keeper_count && away < KEEPERS_MAX && !atomic_load(&storage->stopping) &&
	    keeper_start(storage) < 0)
		log_warning("no thread to compress what lies on other disks");
}

void visit_begin(struct visit *visit, struct trace *trace, enum visit_kind kind)
{
	struct storage *storage = trace->storage;

	*visit = (struct visit){ .kind = kind, .trace = trace, .since_ns = clocks_mono_ns() };
	trace->references++;
	TAILQ_INSERT_TAIL(&storage->visits, visit, entry);
	if (kind != VISIT_REMOVAL)
		keep_one_free(storage);
}

void visit_end(struct visit *visit)
{
	struct trace *trace = visit->trace;

	if (visit->told)
		log_info("%s: its disk answers again", trace->path);
	TAILQ_REMOVE(&trace->storage->visits, visit, entry);
	trace_unref(trace);
}

bool disk_is_visited(const struct storage *storage, dev_t device, enum visit_kind kind)
{
	const struct visit *visit;

	TAILQ_FOREACH (visit, &storage->visits, entry)
		if (visit->kind == kind && visit->trace->device == device)
			return true;
	return false;
}

static bool is_silent(const struct visit *visit, uint64_t for_ns)
{
	uint64_t since = atomic_load(&visit->since_ns), now = clocks_mono_ns();

	return since < now && now - since >= for_ns;
}

bool disk_is_silent(const struct storage *storage, dev_t device)
{
	const struct visit *visit;

	TAILQ_FOREACH (visit, &storage->visits, entry)
		if (visit->trace->device == device && is_silent(visit, SILENT_NS))
			return true;
	return false;
}

void visits_tell(struct storage *storage)
{
	struct visit *visit;

	TAILQ_FOREACH (visit, &storage->visits, entry) {
		if (visit->kind == VISIT_REMOVAL || visit->told || !is_silent(visit, TELL_NS))
			continue;
		visit->told = true;
		log_warning("%s: its disk does not answer: what lies there is neither compressed nor removed "
			    "until it does",
			    visit->trace->path);
	}
}
