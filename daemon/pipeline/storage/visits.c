// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Visits: which threads wait for which disks. A thread that visits a disk which does not answer stays until it
 * does, and all others keep away from that disk.
 */
#include "storage_private.h"

#include "log.h"

#define SILENT_NS 1000000000ULL /* a disk that has not answered for so long is left alone */
#define TELL_NS	  5000000000ULL

void visit_begin(struct visit *visit, struct trace *trace, enum visit_kind kind)
{
	*visit = (struct visit){ .kind = kind, .trace = trace, .since_ns = clocks_mono_ns() };
	trace->references++;
	TAILQ_INSERT_TAIL(&trace->storage->visits, visit, entry);
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
		log_message(ABOUT(STORAGE_WAITS, .output = visit->trace->path),
			    "%s: its disk does not answer: files there are neither compressed nor removed until it "
			    "does", visit->trace->path);
	}
}
