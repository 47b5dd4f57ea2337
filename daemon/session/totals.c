// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/totals.h"

#include <string.h>

#include "json_add.h"
#include "schema.h"
#include "session/counts.h"

static void add_session(struct totals_stream sums[IOTR_STREAM_COUNT], const struct session *session)
{
	struct writer_probes probes;
	struct row_counts counts;

	for (enum iotr_stream stream = 0; stream < IOTR_STREAM_COUNT; stream++) {
		if (!session_counts(session, stream, &probes, &counts))
			continue;
		sums[stream].rows += counts.rows;
		sums[stream].bytes += counts.bytes;
		sums[stream].lost_ring += probes.ring;
		sums[stream].lost_queue += counts.lost_queue;
		sums[stream].lost_disk += counts.lost_disk;
		sums[stream].lost_unmatched += probes.unmatched;
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
	struct json_object *object = json_object_new_object(), *lost = json_object_new_object();

	add_u64(object, "rows", sums->rows);
	add_u64(object, "bytes", sums->bytes);
	add_u64(lost, "ring", sums->lost_ring);
	add_u64(lost, "queue", sums->lost_queue);
	add_u64(lost, "disk", sums->lost_disk);
	add_u64(lost, "unmatched", sums->lost_unmatched);
	add_u64(lost, "names", sums->lost_names);
	json_object_object_add(object, "lost", lost);
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
		lift(&told->lost_ring, now[stream].lost_ring);
		lift(&told->lost_queue, now[stream].lost_queue);
		lift(&told->lost_disk, now[stream].lost_disk);
		lift(&told->lost_unmatched, now[stream].lost_unmatched);
		lift(&told->lost_names, now[stream].lost_names);
		json_object_object_add(streams, iotr_schemas[stream].flag, describe(told));
	}
	return streams;
}
