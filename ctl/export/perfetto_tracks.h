/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which tracks a trace of Perfetto was told of, and until when each is taken. A track is known by a number of 64 bits that is
 * made of what it is of, so one that was forgotten has the same when it comes again. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perfetto_track {
	uint64_t uuid; /* 0: the slot is free */
	uint64_t *lanes; /* until when each of the tracks for what overlaps is taken; the first is the track itself */
	uint32_t lane_count;
};

/* An all-zero object is empty. */
struct perfetto_tracks {
	struct perfetto_track *slots;
	size_t slot_count, count;
};

/* The number of a track of that kind: a process, a thread, ... */
uint64_t perfetto_uuid(char kind, uint64_t a, uint64_t b);

/*
 * The track, which is `*fresh` when it was not known; valid until the next call. With `most` tracks those are forgotten that
 * nothing is under way in at `now_ns`. NULL with -ENOMEM, or -E2BIG: there is something in all of them.
 */
struct perfetto_track *perfetto_tracks_find(struct perfetto_tracks *tracks, uint64_t uuid, uint64_t now_ns, size_t most,
					    bool *fresh, int *error);

/* Takes a lane that is free at `begin_ns`, until `end_ns`. Returns its number, or -ENOMEM or -E2BIG. */
int perfetto_track_take(struct perfetto_track *track, uint64_t begin_ns, uint64_t end_ns, size_t most, bool *fresh);
void perfetto_tracks_done(struct perfetto_tracks *tracks);
