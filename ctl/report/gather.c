// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/gather.h"

#include <string.h>

int gathered_init(struct gathered *gathered)
{
	return amplified_init(&gathered->amplified);
}

static struct gathered_disk *find_disk(struct gathered *gathered, struct trace_text name)
{
	struct gathered_disk *disk = gathered->disks;

	for (size_t i = 0; i < gathered->disk_count; i++, disk++)
		if (trace_text_is(name, disk->name))
			return disk;
	if (gathered->disk_count == GATHER_DISKS_MAX || !name.length || name.length >= sizeof(disk->name))
		return NULL;
	memcpy(disk->name, name.at, name.length);
	gathered->disk_count++;
	return disk;
}

/* A row begins when its request was inserted, or, if it was not, issued; it is in the device from then on. */
static void add_depth(struct gathered *gathered, const struct facts_columns *columns, const struct trace_rows *rows,
		      const struct facts *facts)
{
	struct gathered_disk *disk;
	uint64_t queued = 0, issued, done;

	if (!facts->has_mono || !facts->has_latency)
		return;
	disk = find_disk(gathered, facts_cell(rows, columns->disk));
	if (!disk) {
		gathered->disks_left_out++;
		return;
	}
	trace_text_ms(facts_cell(rows, columns->queue_latency), &queued);
	if (!__builtin_add_overflow(facts->mono_ns, queued, &issued) &&
	    !__builtin_add_overflow(issued, facts->latency_ns, &done))
		rate_add_span(&disk->in_flight, issued, done);
}

int gathered_row(void *to, const struct facts_columns *columns, const struct trace_rows *rows,
		 const struct facts *facts, unsigned int moves)
{
	struct gathered *gathered = to;

	if (facts->has_mono && facts->has_latency)
		heat_add(&gathered->heat[columns->stream], facts->mono_ns, facts->latency_ns);
	if (columns->stream == IOTR_BLOCK)
		add_depth(gathered, columns, rows, facts);
	amplified_row(&gathered->amplified, columns, rows, facts, moves);
	return 0;
}

void gathered_done(struct gathered *gathered)
{
	amplified_done(&gathered->amplified);
}
