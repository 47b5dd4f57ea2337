// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Once a second, records what each session has lost since, and so the time of the loss. The kernel's counters
 * are read once for all sessions.
 */
#include "engine_internal.h"
#include "pipeline/writer/losses.h"

static uint32_t streams_wanted(const struct engine *engine)
{
	uint32_t streams = 0;

	for (size_t i = 0; i < IOTR_SESSIONS_MAX; i++)
		if (engine->sessions[i] && session_runs(engine->sessions[i]))
			streams |= engine->sessions[i]->spec.streams;
	return streams;
}

static void tell_stream(struct session *session, enum iotr_stream stream, const struct probes_loss *places)
{
	struct probes_loss *loss = &session->looked[stream];

	session_loss_by(session, stream, places, loss);
	if (session->writer)
		session_report_stream(session, stream, loss);
}

static void read_recorder(struct losses_counts *counts, void *userdata)
{
	const struct session *session = userdata;

	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++) {
		struct recorder_counts kept;

		if (!(session->spec.streams >> stream & 1))
			continue;
		recorder_counts(session->recorder, stream, &kept);
		counts->rows[stream][LOSS_RING] = session->looked[stream].ring;
		counts->rows[stream][LOSS_UNMATCHED] = session->looked[stream].unmatched;
		counts->rows[stream][LOSS_QUEUE] = kept.lost;
	}
}

static void look(struct session *session)
{
	if (session->writer) {
		writer_look(session->writer);
	} else if (session->losses) {
		losses_look(session->losses, read_recorder, session, NULL);
		losses_log(session->losses);
	}
}

void losses_tick(struct engine *engine)
{
	uint32_t streams = streams_wanted(engine);
	struct probes_loss places[IOTR_SESSIONS_MAX];

	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++) {
		if (!(streams >> stream & 1) ||
		    !probes_losses(engine->probes, stream, places, IOTR_SESSIONS_MAX))
			continue;
		for (size_t i = 0; i < IOTR_SESSIONS_MAX; i++) {
			struct session *session = engine->sessions[i];

			if (session && session_runs(session) && session->spec.streams >> stream & 1)
				tell_stream(session, stream, places);
		}
	}
	for (size_t i = 0; i < IOTR_SESSIONS_MAX; i++)
		if (engine->sessions[i] && session_runs(engine->sessions[i]))
			look(engine->sessions[i]);
}

void losses_last(struct session *session)
{
	if (!session->losses)
		return;
	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		session_loss(session, stream, &session->looked[stream]);
	look(session);
}

struct json_object *session_losses(const struct session *session, size_t most)
{
	if (session->writer)
		return writer_losses(session->writer, most);
	return session->losses ? losses_describe(session->losses, most) : json_object_new_array();
}
