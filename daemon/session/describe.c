// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/describe.h"

#include <string.h>

#include "json_add.h"
#include "pipeline/clocks.h"
#include "schema.h"
#include "session/anonymity.h"
#include "session/counts.h"
#include "session/json_time.h"
#include "session/memory_sink.h"
#include "session/opener.h"
#include "session/rates.h"
#include "snapshot/schedule.h"
#include "spec/definition.h"
#include "spec/filter_fit.h"

#define LOSSES_TOLD 16 /* the latest ones; the manifest has more */

void describe_lost(struct json_object *object, const uint64_t lost[LOSS_CAUSES], uint64_t names)
{
	struct json_object *by_cause = json_object_new_object();

	for (enum loss_cause cause = 0; cause < LOSS_CAUSES; cause++)
		add_u64(by_cause, loss_names[cause], lost[cause]);
	add_u64(by_cause, "names", names);
	json_object_object_add(object, "lost", by_cause);
}

/*
 * Number of rows that are between kernel and sink: emitted = rows + lost + pending at any instant, and none is
 * pending once the session has ended.
 */
static uint64_t rows_pending(const struct row_counts *counts, const struct writer_probes *probes)
{
	uint64_t known = counts->rows + counts->refused + counts->lost_queue + counts->lost_disk + probes->ring +
			 probes->unmatched;

	return probes->emitted > known ? probes->emitted - known : 0;
}

/* The sink's counts are read before the kernel's, as a row is emitted before it comes to the sink. */
static struct json_object *describe_stream(const struct session *session, enum iotr_stream stream)
{
	struct json_object *object = json_object_new_object();
	const struct row_sink_ops *ops = session->sink->ops;
	struct writer_probes probes;
	struct row_counts counts;
	uint64_t lost[LOSS_CAUSES];

	ops->counts(session->sink, stream, &counts);
	session_probes(session, stream, &probes);
	add_u64(object, "emitted", probes.emitted - counts.refused);
	ops->describe_stream(session->sink, stream, &counts, object);
	session_losses(&probes, &counts, lost);
	describe_lost(object, lost, counts.lost_names);
	add_u64(object, "missed", probes.missed);
	add_u64(object, "unfollowed", probes.unfollowed);
	if (stream == IOTR_BLOCK)
		add_u64(object, "forgotten", probes.forgotten);
	add_u64(object, "pending", rows_pending(&counts, &probes));
	return object;
}

struct json_object *describe_streams(const struct session *session)
{
	struct json_object *streams = json_object_new_object();

	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		if (session->spec.streams >> stream & 1)
			json_object_object_add(streams, iotr_schemas[stream].flag, describe_stream(session, stream));
	return streams;
}

/* As users see them: a session that ends without having run ends like any other. */
static const char *const state_names[SESSION_STATES] = {
	[SESSION_STARTING] = "starting", [SESSION_RUNNING] = "running", [SESSION_ENDING] = "ending",
	[SESSION_ENDED] = "ended",	 [SESSION_ABORTING] = "ending", [SESSION_FAILED] = "ended",
};

static void add_trigger(struct json_object *array, const struct iotr_trigger *trigger, const struct trigger_state *state,
			const char *action)
{
	struct json_object *object = json_object_new_object();
	char text[CLOCKS_TEXT_MAX];

	add_string(object, "trigger", trigger->text);
	add_string(object, "action", action);
	add_u64(object, "fired", state->fired);
	if (state->fired_ns) {
		add_string(object, "last_fired", clocks_format(text, state->fired_ns));
		add_string(object, "last_value", state->value);
	}
	json_object_array_add(array, object);
}

struct json_object *describe_triggers(const struct session *session)
{
	const struct iotr_session_spec *spec = &session->spec;
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < spec->trigger_count; i++)
		add_trigger(array, &spec->triggers[i], &session->triggers.starts[i], spec->flight_recorder ? "dump" : "start");
	for (size_t i = 0; i < spec->stop_count; i++)
		add_trigger(array, &spec->stops[i], &session->triggers.stops[i], "stop");
	return array;
}

static void add_triggers(const struct session *session, struct json_object *status)
{
	const struct iotr_session_spec *spec = &session->spec;

	if (!spec->trigger_count && !spec->stop_count)
		return;
	json_object_object_add(status, "triggers", describe_triggers(session));
	if (spec->hold_off_ns)
		add_u64(status, "hold_off_ns", spec->hold_off_ns);
	if (session->triggers.error[0])
		add_string(status, "trigger_error", session->triggers.error);
}

static bool has_output(const struct session *session)
{
	return !session->spec.flight_recorder && session->state != SESSION_ABORTING &&
	       session->state != SESSION_FAILED;
}

static void add_state(const struct session *session, struct json_object *status)
{
	const char *stand_in = probes_stand_in(session->context->probes);

	add_string(status, "name", session->spec.name);
	add_string(status, "state",
		   session->state == SESSION_RUNNING && session->waiting ? "waiting" : state_names[session->state]);
	if (session->reason)
		add_string(status, "reason", session->reason);
	if (session->opening)
		opening_describe_trouble(session->opening, status);
	add_time(status, "started", &session->started);
	if (has_output(session))
		add_string(status, "output", session->output);
	add_string(status, "level", probes_level_name(probes_level(session->context->probes)));
	if (stand_in && session->wish.streams & 1U << IOTR_VFS)
		add_string(status, "stand_in", stand_in);
	add_u64(status, "owner_uid", session->owner.uid);
	if (session->spec.declared)
		add_flag(status, "declared", true);
}

static void add_definition(const struct session *session, struct json_object *status)
{
	const struct iotr_session_spec *spec = &session->spec;

	json_object_object_add(status, "filters", anonymize_filters(session, definition_filters(spec)));
	definition_add_limits(status, spec);
	if (spec->anonymize)
		add_flag(status, "anonymize", true);
}

static void add_snapshots(const struct session *session, struct json_object *status)
{
	struct json_object *snapshots;

	if (memory_sink_of(session->sink) || session->state == SESSION_STARTING)
		return;
	snapshots = schedule_status(session->schedule);
	json_object_object_add(status, "snapshots", anonymize_snapshots(session, snapshots));
}

struct json_object *describe_session(const struct session *session)
{
	const struct row_sink_ops *ops = session->sink->ops;
	struct json_object *status = json_object_new_object();

	add_state(session, status);
	json_object_object_add(status, "streams", describe_streams(session));
	add_definition(session, status);
	ops->describe(session->sink, status);
	add_snapshots(session, status);
	add_triggers(session, status);
	json_object_object_add(status, "losses", ops->losses(session->sink, LOSSES_TOLD));
	json_object_object_add(status, "missing", json_object_get(session->missing));
	if (filter_unseen(&session->spec))
		add_string(status, "unseen", filter_unseen(&session->spec));
	if (session->gaps)
		json_object_object_add(status, "gaps", json_object_get(session->gaps));
	if (session->in_flight)
		json_object_object_add(status, "in_flight", anonymize_in_flight(session, session->in_flight));
	if (session->lacking)
		json_object_object_add(status, "lacking", json_object_get(session->lacking));
	if (session->state == SESSION_RUNNING)
		rates_describe(session, status);
	return status;
}
