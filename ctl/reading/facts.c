// SPDX-License-Identifier: GPL-2.0-or-later
#include "reading/facts.h"

#include <string.h>

/* Names of columns that differ between streams. NULL: rows of the stream have no such thing. */
static const struct {
	const char *latency, *asked, *done, *error;
} names[IOTR_STREAM_COUNT] = {
	[IOTR_VFS] = { "latency_ns", "size", "bytes_completed", "errno" },
	[IOTR_BLOCK] = { "latency_ms", "size", "size", "error" },
	[IOTR_EPOLL] = { "latency_ns", NULL, NULL, "return_value" },
	[IOTR_SOCKOPT] = { NULL, NULL, NULL, "return_value" },
	[IOTR_DROP] = { NULL, "packet_size", "packet_size", NULL },
	[IOTR_IOURING] = { "latency_ms", "length", "result", "result" },
	[IOTR_NET] = { "latency_ns", "size", "bytes_completed", "error_code" },
	[IOTR_CONN] = { "latency_ns", NULL, NULL, "return_value" },
	[IOTR_CACHE] = { NULL, "count", "count", NULL },
	[IOTR_PAGEFAULT] = { "latency_ns", NULL, NULL, NULL },
};

static int find(const struct trace_rows *rows, const char *name)
{
	return name ? trace_rows_column(rows, name) : -1;
}

void facts_columns_find(struct facts_columns *columns, enum iotr_stream stream, const struct trace_rows *rows)
{
	const char *latency = names[stream].latency, *error = names[stream].error;
	bool net = stream == IOTR_NET || stream == IOTR_DROP;

	*columns = (struct facts_columns){
		.stream = stream,
		.timestamp = find(rows, "timestamp"),
		.operation = find(rows, "operation"),
		.pid = find(rows, "pid"),
		.tid = find(rows, "tid"),
		.command = find(rows, "command"),
		.ppid = find(rows, "ppid"),
		.uid = find(rows, "uid"),
		.cgroup_id = find(rows, "cgroup_id"),
		.mono_ns = find(rows, "mono_ns"),
		.latency = find(rows, latency),
		.queue_latency = find(rows, "queue_latency_ms"),
		.asked = find(rows, names[stream].asked),
		.done = find(rows, names[stream].done),
		.error = find(rows, error),
		.file = find(rows, "filename"),
		.device = find(rows, "device"),
		.disk = find(rows, "disk"),
		.leaf = find(rows, "leaf"),
		.inode = find(rows, "inode"),
		.flow = find(rows, "flow"),
		.fs_type = find(rows, "fs_type"),
		.severity = find(rows, "severity"),
		.local_address = find(rows, net ? "source_addr" : "local_addr"),
		.local_port = find(rows, net ? "source_port" : "local_port"),
		.remote_address = find(rows, net ? "dest_addr" : "remote_addr"),
		.remote_port = find(rows, net ? "dest_port" : "remote_port"),
		.latency_in_ms = latency && !strcmp(latency, "latency_ms"),
		.error_is_result = error && (!strcmp(error, "return_value") || !strcmp(error, "result")),
	};
}

static bool begins_with(struct trace_text text, const char *word)
{
	size_t length = strlen(word);

	return text.length >= length && !memcmp(text.at, word, length);
}

/* Whether the result of a request of io_uring is a number of bytes. */
static bool moves_bytes(struct trace_text operation)
{
	return begins_with(operation, "READ") || begins_with(operation, "WRITE") || begins_with(operation, "SEND") ||
	       begins_with(operation, "RECV") || begins_with(operation, "SPLICE") || begins_with(operation, "TEE");
}

/* ---- layers ---- */

const char *facts_layer_name(unsigned int layer)
{
	return layer == FACTS_STACKED ? "stacked" : iotr_schemas[layer].flag;
}

/* Traces of earlier versions do not say which disks are made of others; these always are, but for loop devices in memory. */
static bool named_like_stacked(struct trace_text disk)
{
	return begins_with(disk, "dm-") || begins_with(disk, "loop") ||
	       (begins_with(disk, "md") && disk.length > 2 && disk.at[2] >= '0' && disk.at[2] <= '9');
}

static unsigned int layer_of(const struct facts_columns *columns, const struct trace_rows *rows)
{
	struct trace_text leaf = facts_cell(rows, columns->leaf);

	if (columns->stream != IOTR_BLOCK)
		return columns->stream;
	if (leaf.length ? trace_text_is(leaf, "0") : named_like_stacked(facts_cell(rows, columns->disk)))
		return FACTS_STACKED;
	return IOTR_BLOCK;
}

/* ---- a row ---- */

static void read_error(const struct facts_columns *columns, const struct trace_rows *rows, struct facts *facts)
{
	struct trace_text error = facts_cell(rows, columns->error);

	if (columns->error_is_result)
		facts->failed = error.length && *error.at == '-';
	else
		facts->failed = error.length && !(error.length == 1 && *error.at == '0');
}

static uint64_t read_bytes(const struct facts_columns *columns, const struct trace_rows *rows, int column)
{
	uint64_t bytes;

	/* What a failed request returned is no number; its sign says so. */
	if (column < 0 || !trace_text_u64(rows->cells[column], &bytes))
		return 0;
	return columns->stream == IOTR_CACHE ? bytes * FACTS_PAGE_SIZE : bytes;
}

void facts_read(const struct facts_columns *columns, const struct trace_rows *rows, struct facts *facts)
{
	struct trace_text latency = facts_cell(rows, columns->latency);

	*facts = (struct facts){ 0 };
	facts->has_latency = columns->latency_in_ms ? trace_text_ms(latency, &facts->latency_ns) :
						      trace_text_u64(latency, &facts->latency_ns);
	facts->has_mono = trace_text_u64(facts_cell(rows, columns->mono_ns), &facts->mono_ns);
	facts->layer = layer_of(columns, rows);
	read_error(columns, rows, facts);
	facts->asked = read_bytes(columns, rows, columns->asked);
	/* Of a block row it is what was asked for; the result of a request of io_uring need not be a number of bytes. */
	if (columns->stream == IOTR_IOURING ? moves_bytes(facts_cell(rows, columns->operation)) :
					      columns->stream != IOTR_BLOCK || !facts->failed)
		facts->done = read_bytes(columns, rows, columns->done);
}

void facts_peer(const struct facts_columns *columns, const struct trace_rows *rows, struct trace_text *address,
		struct trace_text *port)
{
	bool sender = columns->stream == IOTR_NET && trace_text_is(facts_cell(rows, columns->operation), "RECEIVE");

	*address = facts_cell(rows, sender ? columns->local_address : columns->remote_address);
	*port = facts_cell(rows, sender ? columns->local_port : columns->remote_port);
}
