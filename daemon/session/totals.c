// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/totals.h"

#include <string.h>

#include "json_add.h"
#include "schema.h"
#include "session/counts.h"
#include "session/describe.h"

static void add_session(struct totals_stream sums[IOTR_STREAM_COUNT], const struct session *session)
{
	struct writer_probes probes;
	struct row_counts counts;
	uint64_t lost[LOSS_CAUSES];

	for (enum iotr_stream stream = 0; stream < IOTR_STREAM_COUNT; stream++) {
		if (!session_counts(session, stream, &probes, &counts))
			continue;
		sums[stream].rows += counts.rows;
		sums[stream].bytes += counts.bytes;
		session_losses(&probes, &counts, lost);
		for (size_t cause = 0; cause < LOSS_CAUSES; cause++)
			sums[stream].lost[cause] += lost[cause];
		sums[stream].lost_names += counts.lost_names;
	}
}

void totals_add(struct totals *totals, const struct session *session)
{
	add_session(totals->ended, session);
	totals->count++;
}

/* Rows that were counted for one cause may turn out to be of another, but who counts them must never see fewer. */
static void lift(uint64_t *told, uint64_t now)
{
	*told = now > *told ? now : *told;
}

static struct json_object *describe(const struct totals_stream *sums)
{
	struct json_object *object = json_object_new_object();

	add_u64(object, "rows", sums->rows);
	add_u64(object, "bytes", sums->bytes);
	describe_lost(object, sums->lost, sums->lost_names);
	return object;
}

struct json_object *totals_describe(struct totals *totals, const struct registry *registry)
{
	struct json_object *streams = json_object_new_object();
	struct totals_stream now[IOTR_STREAM_COUNT];
	const struct session *session;

	memcpy(now, totals->ended, sizeof(now));
	for (size_t i = 0; (session = registry_at(registry, i)); i++)
		add_session(now, session);
	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++) {
		struct totals_stream *told = &totals->told[stream];

		lift(&told->rows, now[stream].rows);
		lift(&told->bytes, now[stream].bytes);
		for (size_t cause = 0; cause < LOSS_CAUSES; cause++)
			lift(&told->lost[cause], now[stream].lost[cause]);
		lift(&told->lost_names, now[stream].lost_names);
		json_object_object_add(streams, iotr_schemas[stream].flag, describe(told));
	}
	return streams;
}
