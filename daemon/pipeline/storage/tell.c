// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes to the manifest of an ended session which of its segments were compressed or removed, as its writer exists no
 * longer.
 */
#include "storage_private.h"

#include <errno.h>
#include <string.h>

#include "log.h"

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
	bool last = trace->tell_tries == KEEPER_RETRIES || keeper_is_strange(error) ||
		    atomic_load(&trace->storage->stopping);

	if (error != -ENOENT && (last || !trace->tell_tries))
		log_message(ABOUT(MANIFEST_NOT_WRITTEN, .output = trace->path, .error = -error),
			    "%s: the manifest cannot be written, and %s: %s", trace->path,
			    last ? "does not show the last files that were compressed or removed" : "is tried again",
			    strerror(-error));
	if (last || error == -ENOENT)
		drop_changes(trace);
	else
		trace->tell_ns = clocks_mono_ns() + (KEEPER_RETRY_NS << trace->tell_tries++);
}

static bool has_to_tell(const struct trace *trace, uint64_t now)
{
	return trace->ended && !trace->recovering &&
	       (trace_has_changes(trace) || trace->untold_count) &&
	       (trace->tell_ns <= now || atomic_load(&trace->storage->stopping));
}

struct trace *tell_find(const struct storage *storage, uint64_t age_ns)
{
	uint64_t now = clocks_mono_ns();
	struct trace *trace;

	TAILQ_FOREACH (trace, &storage->traces, entry)
		if (has_to_tell(trace, now) && trace->told_ns + age_ns <= now &&
		    !disk_is_visited(storage, trace->device, VISIT_WORK))
			break;
	return trace;
}

void tell_run(struct trace *trace)
{
	struct storage *storage = trace->storage;
	const struct rights *before;
	int error;

	trace->told_ns = clocks_mono_ns();
	pthread_mutex_unlock(&storage->lock);
	before = rights_use(trace_rights(trace));
	error = manifest_edit(trace);
	rights_use(before);
	if (!error)
		trace_told(trace);
	if (error < 0)
		tell_later(trace, error);
	else /* changes that are left came meanwhile, as making room for the manifest may remove a segment */
		trace->tell_tries = 0;
	pthread_mutex_lock(&storage->lock);
}
