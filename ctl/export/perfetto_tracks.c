// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/perfetto_tracks.h"

#include <errno.h>
#include <stdlib.h>
#include <xxhash.h>

uint64_t perfetto_uuid(char kind, uint64_t a, uint64_t b)
{
	const uint64_t what[] = { (uint64_t)kind, a, b };
	uint64_t uuid = XXH3_64bits(what, sizeof(what));

	return uuid ? uuid : 1;
}

static struct perfetto_track *slot_of(struct perfetto_track *slots, size_t count, uint64_t uuid)
{
	size_t at = uuid & (count - 1);

	while (slots[at].uuid && slots[at].uuid != uuid)
		at = (at + 1) & (count - 1);
	return &slots[at];
}

static bool is_busy(const struct perfetto_track *track, uint64_t now_ns)
{
	for (uint32_t i = 0; i < track->lane_count; i++)
		if (track->lanes[i] > now_ns)
			return true;
	return false;
}

/* Moves the tracks into `count` slots, but for those that are to be forgotten. */
static int move(struct perfetto_tracks *tracks, size_t count, bool forget, uint64_t now_ns)
{
	struct perfetto_track *slots = calloc(count, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < tracks->slot_count; i++) {
		struct perfetto_track *track = &tracks->slots[i];

		if (!track->uuid)
			continue;
		if (!forget || is_busy(track, now_ns)) {
			*slot_of(slots, count, track->uuid) = *track;
			continue;
		}
		free(track->lanes);
		tracks->count--;
	}
	free(tracks->slots);
	tracks->slots = slots;
	tracks->slot_count = count;
	return 0;
}

/* At most half of the slots are taken. */
static int make_room(struct perfetto_tracks *tracks, uint64_t now_ns, size_t most)
{
	if (tracks->count >= most) {
		int r = move(tracks, tracks->slot_count, true, now_ns);

		return r < 0 ? r : tracks->count >= most ? -E2BIG : 0;
	}
	if (2 * tracks->count < tracks->slot_count)
		return 0;
	return move(tracks, tracks->slot_count ? 2 * tracks->slot_count : 256, false, now_ns);
}

struct perfetto_track *perfetto_tracks_find(struct perfetto_tracks *tracks, uint64_t uuid, uint64_t now_ns, size_t most,
					    bool *fresh, int *error)
{
	struct perfetto_track *track = tracks->slot_count ? slot_of(tracks->slots, tracks->slot_count, uuid) : NULL;

	*fresh = !track || !track->uuid;
	if (!*fresh)
		return track;
	*error = make_room(tracks, now_ns, most);
	if (*error < 0)
		return NULL;
	track = slot_of(tracks->slots, tracks->slot_count, uuid);
	track->uuid = uuid;
	tracks->count++;
	return track;
}

int perfetto_track_take(struct perfetto_track *track, uint64_t begin_ns, uint64_t end_ns, size_t most, bool *fresh)
{
	uint64_t *lanes;
	uint32_t lane = 0;

	while (lane < track->lane_count && track->lanes[lane] > begin_ns)
		lane++;
	*fresh = lane == track->lane_count;
	if (*fresh && lane == most)
		return -E2BIG;
	/* Room is doubled whenever the count is a power of two. */
	if (*fresh && !(lane & (lane - 1))) {
		lanes = reallocarray(track->lanes, lane ? 2 * lane : 1, sizeof(*lanes));
		if (!lanes)
			return -ENOMEM;
		track->lanes = lanes;
	}
	track->lane_count += *fresh;
	track->lanes[lane] = end_ns;
	return (int)lane;
}

void perfetto_tracks_done(struct perfetto_tracks *tracks)
{
	for (size_t i = 0; i < tracks->slot_count; i++)
		free(tracks->slots[i].lanes);
	free(tracks->slots);
	*tracks = (struct perfetto_tracks){ 0 };
}
