// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/gather.h"

#include <errno.h>
#include <string.h>

/* The operations that are reads and writes of files and of disks; others move no data, or between two files. */
static const struct {
	enum iotr_stream stream;
	const char *operation;
	enum gathered_flow flow;
} flows[] = {
	{ IOTR_VFS, "READ", GATHERED_CALL_READ },    { IOTR_VFS, "WRITE", GATHERED_CALL_WRITE },
	{ IOTR_VFS, "DIO_READ", GATHERED_CALL_READ }, { IOTR_VFS, "DIO_WRITE", GATHERED_CALL_WRITE },
	{ IOTR_BLOCK, "READ", GATHERED_DISK_READ },  { IOTR_BLOCK, "WRITE", GATHERED_DISK_WRITE },
};

int gathered_init(struct gathered *gathered)
{
	int r = 0;

	for (size_t i = 0; i < GATHERED_FLOWS && r >= 0; i++)
		r = top_init(&gathered->commands[i]);
	return r;
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

static void add_flow(struct gathered *gathered, const struct facts_columns *columns, const struct trace_rows *rows,
		     const struct facts *facts)
{
	const struct top_sums sums = { .ns = facts->latency_ns, .rows = 1, .bytes = facts->done, .errors = facts->failed };
	struct trace_text operation = facts_cell(rows, columns->operation);
	struct trace_text command = facts_cell(rows, columns->command);

	for (size_t i = 0; i < sizeof(flows) / sizeof(flows[0]); i++) {
		if (flows[i].stream != columns->stream || !trace_text_is(operation, flows[i].operation))
			continue;
		top_sums_add(&gathered->all[flows[i].flow], &sums);
		top_add(&gathered->commands[flows[i].flow], command.at, command.length, &sums);
	}
}

int gathered_row(void *to, const struct facts_columns *columns, const struct trace_rows *rows,
		 const struct facts *facts)
{
	struct gathered *gathered = to;

	if (facts->has_mono && facts->has_latency)
		heat_add(&gathered->heat[columns->stream], facts->mono_ns, facts->latency_ns);
	if (columns->stream == IOTR_BLOCK)
		add_depth(gathered, columns, rows, facts);
	add_flow(gathered, columns, rows, facts);
	return 0;
}

void gathered_done(struct gathered *gathered)
{
	for (size_t i = 0; i < GATHERED_FLOWS; i++)
		top_done(&gathered->commands[i]);
}
