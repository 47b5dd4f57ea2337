// SPDX-License-Identifier: GPL-2.0-or-later
/* Flight recorders: the limit of their memory, and their status. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "engine_internal.h"
#include "pipeline/clocks.h"
#include "units.h"

/*
 * All flight recorders together may have a quarter of the machine's memory: as much again is used
 * while all of them are dumped.
 */
#define SHARE 4

static uint64_t memory_left(const struct engine *engine)
{
	uint64_t left = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / SHARE;

	for (size_t i = 0; i < IOTR_SESSIONS_MAX; i++) {
		const struct session *session = engine->sessions[i];
		uint64_t taken = session ? session->spec.flight_recorder : 0;

		left -= taken < left ? taken : left;
	}
	return left;
}

int session_open_recorder(struct session *session, struct engine_error *error)
{
	uint64_t size = session->spec.flight_recorder, left = memory_left(session->engine);
	char wanted[32], there[32];
	int r;

	if (size > left) {
		snprintf(error->message, sizeof(error->message),
			 "%s is more than flight recorders may still have here: %s, as all of them "
			 "together may have a quarter of the machine's memory",
			 iotr_format_size(wanted, sizeof(wanted), size),
			 iotr_format_size(there, sizeof(there), left));
		return engine_fail(error, -EINVAL, "flight_recorder", NULL);
	}
	/* A dump writes its files all at once, so rotation makes no sense. */
	session->spec.rotate_size = 0;
	session->spec.rotate_interval_ns = 0;
	session->spec.compress = false;
	r = recorder_new(size, session->spec.streams, &session->recorder);
	if (r >= 0)
		r = losses_new(session->spec.name, &session->losses);
	return r < 0 ? engine_fail(error, r, "", "out of memory") : 0;
}

struct json_object *recorder_describe(const struct session *session)
{
	struct json_object *object = json_object_new_object();
	struct recorder_memory memory;
	uint64_t now = clocks_mono_ns();

	recorder_memory(session->recorder, &memory);
	add_u64(object, "size", memory.size);
	add_u64(object, "used", memory.used);
	add_mono_time(object, "since", memory.reaches_ns);
	add_u64(object, "span_ns", now > memory.reaches_ns ? now - memory.reaches_ns : 0);
	add_flag(object, "dumping", session->dump != NULL);
	return object;
}

struct json_object *recorder_stream_status(const struct session *session, enum iotr_stream stream)
{
	struct json_object *object = json_object_new_object();
	struct recorder_counts counts;
	struct probes_loss loss;
	uint64_t known;

	recorder_counts(session->recorder, stream, &counts);
	session_loss(session, stream, &loss);
	known = counts.received + loss.ring + loss.unmatched;
	add_u64(object, "emitted", loss.emitted);
	add_u64(object, "kept", counts.kept);
	add_u64(object, "overwritten", counts.overwritten);
	add_lost(object, &loss, counts.lost, 0, counts.lost_names);
	add_u64(object, "missed", session_missed(session, stream));
	add_u64(object, "unfollowed", session_unfollowed(session));
	add_u64(object, "pending", loss.emitted > known ? loss.emitted - known : 0);
	return object;
}
