// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/memory_sink.h"

#include <errno.h>
#include <stdlib.h>

#include "json_add.h"
#include "pipeline/clocks.h"
#include "session/json_time.h"

static struct memory_sink *memory(struct row_sink *sink)
{
	return (struct memory_sink *)sink;
}

static const struct memory_sink *memory_const(const struct row_sink *sink)
{
	return (const struct memory_sink *)sink;
}

static int attach(struct row_sink *sink, struct router *router, unsigned int slot)
{
	return router_attach_recorder(router, slot, memory(sink)->recorder);
}

static void counts(const struct row_sink *sink, enum iotr_stream stream, struct row_counts *ret)
{
	struct recorder_counts counts;

	recorder_counts(memory_const(sink)->recorder, stream, &counts);
	*ret = (struct row_counts){
		.rows = counts.received - counts.lost,
		.gone = counts.overwritten,
		.bytes = counts.bytes,
		.lost_queue = counts.lost,
		.lost_names = counts.lost_names,
	};
}

static void report(struct row_sink *sink, enum iotr_stream stream, const struct writer_probes *probes)
{
	memory(sink)->probes[stream] = *probes;
}

static void read_losses(struct losses_counts *counts, void *userdata)
{
	const struct memory_sink *sink = userdata;

	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++) {
		struct recorder_counts kept;

		if (!(sink->streams >> stream & 1))
			continue;
		recorder_counts(sink->recorder, stream, &kept);
		counts->rows[stream][LOSS_RING] = sink->probes[stream].ring;
		counts->rows[stream][LOSS_UNMATCHED] = sink->probes[stream].unmatched;
		counts->rows[stream][LOSS_QUEUE] = kept.lost;
	}
}

static void look_at(struct row_sink *sink, bool last)
{
	losses_look(memory(sink)->losses, read_losses, sink, NULL);
	losses_log(memory(sink)->losses, clocks_mono_ns(), last);
}

static void look(struct row_sink *sink)
{
	look_at(sink, false);
}

static int end(struct row_sink *sink, const char *reason, row_sink_handler handler, void *userdata)
{
	(void)reason, (void)handler, (void)userdata;
	look_at(sink, true);
	return -ENOENT;
}

static void describe_stream(const struct row_sink *sink, enum iotr_stream stream, const struct row_counts *counts,
			    struct json_object *status)
{
	(void)sink, (void)stream;
	add_u64(status, "kept", counts->rows - counts->gone);
	add_u64(status, "overwritten", counts->gone);
}

static void describe(const struct row_sink *sink, struct json_object *status)
{
	struct json_object *object = json_object_new_object();
	struct recorder_memory memory;
	uint64_t now = clocks_mono_ns();

	recorder_memory(memory_const(sink)->recorder, &memory);
	add_u64(object, "size", memory.size);
	add_u64(object, "used", memory.used);
	add_mono_time(object, "since", memory.reaches_ns);
	add_u64(object, "span_ns", now > memory.reaches_ns ? now - memory.reaches_ns : 0);
	add_flag(object, "dumping", memory_const(sink)->dumping);
	json_object_object_add(status, "flight_recorder", object);
}

static struct json_object *losses(const struct row_sink *sink, size_t most)
{
	return losses_describe(memory_const(sink)->losses, most);
}

static void sink_free(struct row_sink *sink)
{
	recorder_free(memory(sink)->recorder);
	losses_free(memory(sink)->losses);
	free(sink);
}

static const struct row_sink_ops memory_ops = {
	.attach = attach,
	.counts = counts,
	.report = report,
	.look = look,
	.end = end,
	.describe_stream = describe_stream,
	.describe = describe,
	.losses = losses,
	.free = sink_free,
};

int memory_sink_new(const char *session, uint32_t streams, uint64_t size, struct memory_sink **ret)
{
	struct memory_sink *sink = calloc(1, sizeof(*sink));
	int r;

	if (!sink)
		return -ENOMEM;
	sink->base.ops = &memory_ops;
	sink->streams = streams;
	r = recorder_new(size, streams, &sink->recorder);
	if (r >= 0)
		r = losses_new(session, &sink->losses);
	if (r < 0)
		sink_free(&sink->base);
	else
		*ret = sink;
	return r;
}

struct memory_sink *memory_sink_of(struct row_sink *sink)
{
	return sink->ops == &memory_ops ? memory(sink) : NULL;
}
