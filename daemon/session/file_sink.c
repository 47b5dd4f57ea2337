// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/file_sink.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spec/definition.h"
#include "json_add.h"
#include "log.h"
#include "pipeline/storage/trace.h"
#include "schema.h"

static struct file_sink *files(struct row_sink *sink)
{
	return (struct file_sink *)sink;
}

static const struct file_sink *files_const(const struct row_sink *sink)
{
	return (const struct file_sink *)sink;
}

static int attach(struct row_sink *sink, struct router *router, unsigned int slot)
{
	return router_attach(router, slot, files(sink)->writer);
}

static void counts_of(const struct file_sink *sink, enum iotr_stream stream, struct writer_counts *counts)
{
	*counts = (struct writer_counts){ 0 };
	if (sink->writer)
		writer_counts(sink->writer, stream, counts);
}

static void counts(const struct row_sink *sink, enum iotr_stream stream, struct row_counts *ret)
{
	struct writer_counts counts;

	counts_of(files_const(sink), stream, &counts);
	*ret = (struct row_counts){
		.rows = counts.written,
		.gone = counts.removed,
		.bytes = counts.bytes,
		.lost_queue = counts.lost_queue,
		.lost_disk = counts.lost_disk,
		.lost_names = counts.lost_names,
		.refused = counts.refused,
	};
}

static uint64_t cpu_ns(const struct row_sink *sink)
{
	return files_const(sink)->writer ? writer_cpu_ns(files_const(sink)->writer) : 0;
}

static void report(struct row_sink *sink, enum iotr_stream stream, const struct writer_probes *probes)
{
	if (files(sink)->writer)
		writer_report(files(sink)->writer, stream, probes);
}

static void log_names(struct row_sink *sink)
{
	struct file_sink *own = files(sink);

	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++) {
		uint64_t before = own->names_told[stream];
		struct writer_counts counts;

		if (!(own->spec->streams >> stream & 1))
			continue;
		counts_of(own, stream, &counts);
		own->names_told[stream] = counts.lost_names;
		if (counts.lost_names > before)
			log_message(ABOUT(NAMES_LOST, .session = own->spec->name, .stream = iotr_schemas[stream].flag,
					  .rows = counts.lost_names - before),
				    "session %s, stream %s: the name of a file, or an argument, was lost in %" PRIu64
				    " rows", own->spec->name, iotr_schemas[stream].flag, counts.lost_names - before);
	}
}

static bool turns(const struct row_sink *sink, uint64_t *ret)
{
	return files_const(sink)->writer && writer_turns(files_const(sink)->writer, ret);
}

static void look(struct row_sink *sink)
{
	if (files(sink)->writer)
		writer_look(files(sink)->writer);
}

static void collect(struct row_sink *sink)
{
	if (files(sink)->writer)
		writer_collect(files(sink)->writer);
}

static const char *limit(const struct row_sink *sink)
{
	return files_const(sink)->writer ? writer_limit(files_const(sink)->writer) : NULL;
}

static int redefine(struct row_sink *sink, struct json_object *definition)
{
	return files(sink)->writer ? writer_redefine(files(sink)->writer, definition) : 0;
}

static void tell(struct row_sink *sink, const char *key, struct json_object *array)
{
	if (files(sink)->writer)
		writer_tell(files(sink)->writer, key, array);
}

static void on_cgroups(int result, const struct writer_paths *paths, void *userdata)
{
	struct file_sink *sink = userdata;

	(void)result, (void)paths;
	sink->cgroups_sent = false;
}

/* One list at a time waits for the disk, but for the last. */
static void cgroups(struct row_sink *sink, struct cgroup_list *list, bool last)
{
	struct file_sink *own = files(sink);

	if (!own->writer || (own->cgroups_sent && !last)) {
		cgroup_list_free(list);
		return;
	}
	own->cgroups_sent = writer_cgroups(own->writer, list, last, on_cgroups, own) >= 0;
}

static void on_ended(int result, const struct writer_paths *paths, void *userdata)
{
	struct file_sink *sink = userdata;

	(void)result, (void)paths; /* the writer has logged the error, and tries again */
	sink->ended(sink->userdata);
}

static int end(struct row_sink *sink, const char *reason, row_sink_handler handler, void *userdata)
{
	struct file_sink *own = files(sink);

	if (!own->writer)
		return -ENOENT;
	own->ended = handler;
	own->userdata = userdata;
	return reason ? writer_stop_begin(own->writer, reason, on_ended, own) :
			writer_discard_begin(own->writer, on_ended, own);
}

static bool await(struct row_sink *sink, uint64_t until_ns)
{
	struct file_sink *own = files(sink);

	if (!own->writer || writer_finish_until(own->writer, until_ns))
		return true;
	own->writer = NULL;
	return false;
}

static int trouble(const struct row_sink *sink)
{
	return files_const(sink)->writer ? writer_manifest_error(files_const(sink)->writer) : 0;
}

static void describe_stream(const struct row_sink *sink, enum iotr_stream stream, const struct row_counts *counts,
			    struct json_object *status)
{
	const struct file_sink *own = files_const(sink);
	struct writer_counts now;
	char path[PATH_MAX + 32];

	counts_of(own, stream, &now);
	add_u64(status, "written", counts->rows);
	add_u64(status, "removed", counts->gone);
	if (own->writer)
		writer_describe_removed(own->writer, stream, status);
	add_u64(status, "bytes", counts->bytes);
	add_u64(status, "segments", now.segments);
	if (now.error)
		add_string(status, "error", strerror(-now.error));
	snprintf(path, sizeof(path), "%s/%s", own->output, iotr_schemas[stream].folder);
	add_string(status, "path", path);
}

/* Adds the errors of the disk, how the files are retained, and how much there is. */
static void describe(const struct row_sink *sink, struct json_object *status)
{
	const struct file_sink *own = files_const(sink);
	struct trace_counts stored;
	int error;

	if (!own->writer)
		return;
	error = writer_manifest_error(own->writer);
	json_object_object_add(status, "disk_errors", writer_disk_errors(own->writer));
	if (error)
		add_string(status, "manifest_error", strerror(-error));
	trace_counts(own->trace, &stored);
	add_u64(status, "stored_bytes", stored.used);
	add_u64(status, "uncompressed", stored.waiting);
	definition_add_storage(status, own->spec);
}

static struct json_object *losses(const struct row_sink *sink, size_t most)
{
	const struct file_sink *own = files_const(sink);

	return own->writer ? writer_losses(own->writer, most) : json_object_new_array();
}

static void sink_free(struct row_sink *sink)
{
	struct file_sink *own = files(sink);

	if (own->writer)
		lingering_add(own->lingering, own->writer);
	free(own);
}

static const struct row_sink_ops file_ops = {
	.attach = attach,
	.counts = counts,
	.cpu_ns = cpu_ns,
	.report = report,
	.log_names = log_names,
	.turns = turns,
	.look = look,
	.collect = collect,
	.limit = limit,
	.redefine = redefine,
	.cgroups = cgroups,
	.tell = tell,
	.end = end,
	.await = await,
	.trouble = trouble,
	.describe_stream = describe_stream,
	.describe = describe,
	.losses = losses,
	.free = sink_free,
};

struct file_sink *file_sink_new(const struct iotr_session_spec *spec, const char *output,
				struct lingering *lingering)
{
	struct file_sink *sink = calloc(1, sizeof(*sink));

	if (sink)
		*sink = (struct file_sink){ .base.ops = &file_ops, .spec = spec, .output = output,
					    .lingering = lingering };
	return sink;
}

void file_sink_open(struct file_sink *sink, struct writer *writer, struct trace *trace)
{
	sink->writer = writer;
	sink->trace = trace;
}

struct file_sink *file_sink_of(struct row_sink *sink)
{
	return sink->ops == &file_ops ? files(sink) : NULL;
}
