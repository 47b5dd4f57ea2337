// SPDX-License-Identifier: GPL-2.0-or-later
#include "fake_sink.h"

#include <errno.h>
#include <string.h>

#include "fake_probes.h"

struct fake_sink fake_sink;

static int fake_attach(struct row_sink *sink, struct router *to, unsigned int slot)
{
	(void)sink, (void)to;
	fake_sink.slot = (int)slot;
	return 0;
}

static void fake_counts(const struct row_sink *sink, enum iotr_stream stream, struct row_counts *ret)
{
	(void)sink, (void)stream;
	*ret = (struct row_counts){ .rows = 7 };
}

static void fake_report(struct row_sink *sink, enum iotr_stream stream, const struct writer_probes *probes)
{
	(void)sink, (void)stream, (void)probes;
}

static void fake_look(struct row_sink *sink)
{
	(void)sink;
}

static const char *fake_limit(const struct row_sink *sink)
{
	(void)sink;
	return fake_sink.limit;
}

static int fake_redefine(struct row_sink *sink, struct json_object *definition)
{
	(void)sink, (void)definition;
	return 0;
}

static void fake_tell(struct row_sink *sink, const char *key, struct json_object *array)
{
	(void)sink, (void)array;
	fake_sink.lacking += !strcmp(key, "lacking");
}

static int fake_end(struct row_sink *sink, const char *reason, row_sink_handler handler, void *userdata)
{
	(void)sink;
	fake_sink.ends++;
	fake_sink.reason = reason;
	fake_sink.open_at_end = fake_sink.slot >= 0 && fake_probes.open[fake_sink.slot];
	fake_sink.handler = handler;
	fake_sink.userdata = userdata;
	return fake_sink.later || fake_sink.hangs ? 0 : -ENOENT;
}

static bool fake_await(struct row_sink *sink, uint64_t until_ns)
{
	(void)sink, (void)until_ns;
	return !fake_sink.hangs;
}

static void fake_describe_stream(const struct row_sink *sink, enum iotr_stream stream,
				 const struct row_counts *counts, struct json_object *status)
{
	(void)sink, (void)stream, (void)counts, (void)status;
}

static void fake_describe(const struct row_sink *sink, struct json_object *status)
{
	(void)sink, (void)status;
}

static struct json_object *fake_losses(const struct row_sink *sink, size_t most)
{
	(void)sink, (void)most;
	return json_object_new_array();
}

static void fake_free(struct row_sink *sink)
{
	(void)sink;
	fake_sink.frees++;
}

static const struct row_sink_ops fake_ops = {
	.attach = fake_attach, .counts = fake_counts, .report = fake_report, .look = fake_look,
	.limit = fake_limit, .redefine = fake_redefine, .tell = fake_tell, .end = fake_end, .await = fake_await,
	.describe_stream = fake_describe_stream, .describe = fake_describe, .losses = fake_losses,
	.free = fake_free,
};

void fake_sink_reset(void)
{
	fake_sink = (struct fake_sink){ .base.ops = &fake_ops, .slot = -1 };
}
