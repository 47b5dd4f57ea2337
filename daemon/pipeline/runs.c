// SPDX-License-Identifier: GPL-2.0-or-later
#include "runs.h"

#include <errno.h>
#include <stdlib.h>

#include "clocks.h"
#include "lines.h"
#include "shared.h"

#define RUN_MAX (64 * 1024) /* bytes after which a run is handed on: so many are at most kept from writers that could work */

struct run {
	struct shared shared;
	struct queue_run rows; /* none: it is not open */
	uint64_t sessions;
};

struct runs {
	runs_ended ended;
	void *userdata;
	struct lines *lines;
	struct clocks_span clock; /* of the last row */
	uint32_t open; /* a bit for each stream with a run that has rows */
	struct run of[IOTR_STREAM_COUNT];
};

int runs_new(runs_ended ended, void *userdata, struct runs **ret)
{
	struct runs *runs = calloc(1, sizeof(*runs));

	if (!runs || lines_new(&runs->lines) < 0) {
		free(runs);
		return -ENOMEM;
	}
	runs->ended = ended;
	runs->userdata = userdata;
	*ret = runs;
	return 0;
}

void runs_free(struct runs *runs)
{
	if (!runs)
		return;
	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		shared_done(&runs->of[stream].shared);
	lines_free(runs->lines);
	free(runs);
}

void runs_end(struct runs *runs, enum iotr_stream stream)
{
	struct run *run = &runs->of[stream];

	if (!(runs->open >> stream & 1))
		return;
	runs->open &= ~(1U << stream);
	runs->ended(&run->rows, run->sessions, runs->userdata);
}

void runs_end_all(struct runs *runs)
{
	while (runs->open)
		runs_end(runs, (enum iotr_stream)__builtin_ctz(runs->open));
}

/* Opens one whose first row will be at `entry`. */
static void begin(struct runs *runs, enum iotr_stream stream, const struct queue_entry *entry, uint64_t sessions)
{
	struct run *run = &runs->of[stream];

	run->sessions = sessions;
	run->rows = (struct queue_run){ .block = run->shared.block, .first = entry, .lines = shared_line(&run->shared),
					.first_ns = UINT64_MAX, .first_realtime_ns = UINT64_MAX };
	runs->open |= 1U << stream;
}

static void widen(uint64_t *first, uint64_t *last, uint64_t at)
{
	*first = at < *first ? at : *first;
	*last = at > *last ? at : *last;
}

static void count(struct runs *runs, struct queue_run *run, const struct row *row, size_t size, size_t line)
{
	uint64_t at = row->record->start_ns;

	run->rows++;
	run->names_lost += row->name_lost;
	run->bytes += (uint32_t)size;
	run->line_bytes += (uint32_t)line;
	widen(&run->first_ns, &run->last_ns, at);
	widen(&run->first_realtime_ns, &run->last_realtime_ns, at + (uint64_t)clocks_offset(&runs->clock, at));
}

/* The run goes on in one block, and for the same sessions. */
static void end_if_other(struct runs *runs, enum iotr_stream stream, uint64_t sessions)
{
	const struct run *run = &runs->of[stream];

	if (run->sessions != sessions || run->rows.bytes >= RUN_MAX || !shared_goes_on(&run->shared))
		runs_end(runs, stream);
}

bool runs_add(struct runs *runs, const struct row *row, uint64_t sessions)
{
	enum iotr_stream stream = row->record->stream;
	struct run *run = &runs->of[stream];
	size_t size = queue_entry_size(row), line = 0;
	struct queue_entry *entry = NULL;

	end_if_other(runs, stream, sessions);
	if (size <= SHARED_ENTRY_MAX && lines_bound(row) <= SHARED_ENTRY_MAX)
		entry = shared_reserve(&run->shared);
	if (entry)
		line = lines_write(runs->lines, row, shared_line(&run->shared));
	if (!line) {
		runs_end(runs, stream);
		return false;
	}
	queue_entry_fill(entry, row, size);
	if (!(runs->open >> stream & 1))
		begin(runs, stream, entry, sessions);
	count(runs, &run->rows, row, size, line);
	shared_add(&run->shared, size, line);
	return true;
}

void runs_drained(struct runs *runs)
{
	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		shared_drained(&runs->of[stream].shared);
}
