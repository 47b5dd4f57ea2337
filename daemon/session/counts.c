// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/counts.h"

#include "log.h"
#include "probes/control_page.h"

uint64_t session_missed(const struct session *session, enum iotr_stream stream)
{
	const struct hookset_wish wish = { .streams = 1U << stream };
	struct probes *probes = session->context->probes;

	if (!session->slots.taken)
		return 0;
	return probes_missed(probes, hookset_groups(probes, &wish)) - session->missed_before[stream];
}

/* Pages whose dirtier was forgotten, which only requests of the stream block tell of. */
static uint64_t forgotten(const struct session *session, enum iotr_stream stream)
{
	if (stream != IOTR_BLOCK || !session->slots.taken)
		return 0;
	return control_page_forgotten(session->context->probes) - session->forgotten_before;
}

/* `losses`: the stream's counts in all slots; NULL: they are read. */
static void fill_probes(const struct session *session, enum iotr_stream stream, const struct probes_loss *losses,
			uint64_t missed, struct writer_probes *ret)
{
	const struct slots *slots = &session->context->slots;
	struct probes_loss loss;

	slot_loss(slots, &session->slots, stream, losses, &loss);
	*ret = (struct writer_probes){
		.emitted = loss.emitted,
		.ring = loss.ring,
		.unmatched = loss.unmatched,
		.missed = missed,
		.unfollowed = slot_unfollowed(slots, &session->slots),
		.forgotten = forgotten(session, stream),
	};
}

void session_probes(const struct session *session, enum iotr_stream stream, struct writer_probes *ret)
{
	fill_probes(session, stream, NULL, session_missed(session, stream), ret);
}

void session_report_stream(struct session *session, enum iotr_stream stream, const struct probes_loss *losses)
{
	struct writer_probes probes;

	fill_probes(session, stream, losses, session->missed_told[stream], &probes);
	session->sink->ops->report(session->sink, stream, &probes);
}

static void warn_unfollowed(struct session *session)
{
	uint64_t unfollowed = slot_unfollowed(&session->context->slots, &session->slots);

	if (unfollowed && !session->unfollowed_told)
		log_message(ABOUT(PROCESSES_LOST, .session = session->spec.name),
			    "session %s: there is no room to follow more processes: descendants that are born from "
			    "now on are not recorded", session->spec.name);
	session->unfollowed_told |= unfollowed;
}

void session_report(struct session *session)
{
	struct row_sink *sink = session->sink;
	struct writer_probes probes;

	warn_unfollowed(session);
	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++) {
		if (!(session->spec.streams >> stream & 1))
			continue;
		session_probes(session, stream, &probes);
		session->missed_told[stream] = probes.missed;
		sink->ops->report(sink, stream, &probes);
	}
	if (sink->ops->log_names)
		sink->ops->log_names(sink);
}

bool session_counts(const struct session *session, enum iotr_stream stream, struct writer_probes *probes, struct row_counts *rows)
{
	if (!(session->spec.streams >> stream & 1))
		return false;
	session->sink->ops->counts(session->sink, stream, rows);
	session_probes(session, stream, probes);
	return true;
}

void session_losses(const struct writer_probes *probes, const struct row_counts *rows, uint64_t ret[LOSS_CAUSES])
{
	ret[LOSS_RING] = probes->ring;
	ret[LOSS_QUEUE] = rows->lost_queue;
	ret[LOSS_DISK] = rows->lost_disk;
	ret[LOSS_UNMATCHED] = probes->unmatched;
}

uint64_t session_lost(const struct session *session)
{
	struct writer_probes probes;
	struct row_counts rows;
	uint64_t lost = 0;

	for (enum iotr_stream stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		if (session_counts(session, stream, &probes, &rows))
			lost += probes.ring + probes.unmatched + rows.lost_queue + rows.lost_disk;
	return lost;
}
