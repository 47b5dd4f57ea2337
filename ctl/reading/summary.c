// SPDX-License-Identifier: GPL-2.0-or-later
#include "reading/summary.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "moves.h"
#include "reading/difference.h"
#include "reading/files.h"

#define PROGRESS_ROWS 4096 /* between two looks at the time */

const char *const summary_list_names[SUMMARY_LISTS] = {
	[SUMMARY_FILES] = "files", [SUMMARY_DIRECTORIES] = "directories", [SUMMARY_PROCESSES] = "processes",
	[SUMMARY_UNITS] = "units", [SUMMARY_DEVICES] = "devices",	  [SUMMARY_PEERS] = "peers",
};

/* ---- layers ---- */

/* Of what is listed, outermost first. */
static const uint8_t file_layers[] = { IOTR_VFS, IOTR_IOURING, IOTR_PAGEFAULT, IOTR_CACHE, IOTR_BLOCK, FACTS_STACKED };
static const uint8_t process_layers[] = { IOTR_VFS,	  IOTR_IOURING,	  IOTR_NET,   IOTR_CONN,  IOTR_EPOLL,	 IOTR_SOCKOPT,
					  IOTR_PAGEFAULT, IOTR_CACHE, IOTR_BLOCK, FACTS_STACKED, IOTR_DROP };
static const uint8_t device_layers[] = { IOTR_BLOCK, IOTR_VFS, IOTR_IOURING, IOTR_PAGEFAULT, IOTR_CACHE };
static const uint8_t peer_layers[] = { IOTR_NET, IOTR_CONN, IOTR_DROP };

_Static_assert((int)FACTS_LAYERS <= (int)TOP_LAYERS, "more layers than a list has sums of");

static const struct {
	const uint8_t *layers;
	size_t count;
} layered[SUMMARY_LISTS] = {
	[SUMMARY_FILES] = { file_layers, sizeof(file_layers) },
	[SUMMARY_DIRECTORIES] = { file_layers, sizeof(file_layers) },
	[SUMMARY_PROCESSES] = { process_layers, sizeof(process_layers) },
	[SUMMARY_UNITS] = { process_layers, sizeof(process_layers) },
	[SUMMARY_DEVICES] = { device_layers, sizeof(device_layers) },
	[SUMMARY_PEERS] = { peer_layers, sizeof(peer_layers) },
};

static bool has_layer(const struct summary *summary, enum summary_list list, unsigned int layer)
{
	const struct summary_stream *block = &summary->streams[IOTR_BLOCK];

	if (layer == FACTS_STACKED)
		return block->stacked_rows;
	if (layer == IOTR_BLOCK && list != SUMMARY_DEVICES && block->stacked_rows && block->stacked_rows == block->rows)
		return false;
	return summary->streams[layer].there;
}

unsigned int summary_outermost(const struct summary *summary, enum summary_list list)
{
	for (size_t i = 0; i < layered[list].count; i++)
		if (has_layer(summary, list, layered[list].layers[i]))
			return layered[list].layers[i];
	return FACTS_LAYERS;
}

/* ---- operations ---- */

static double usual_of(const struct summary_baseline *baseline, enum iotr_stream stream, const char *name)
{
	for (size_t i = 0; baseline && i < baseline->counts[stream]; i++)
		if (!strcmp(baseline->operations[stream][i].name, name))
			return baseline->operations[stream][i].usual;
	return NAN;
}

static struct summary_operation *find_operation(struct summary *summary, enum iotr_stream number, struct trace_text name)
{
	struct summary_stream *stream = &summary->streams[number];
	struct summary_operation *operation;

	if (name.length >= SUMMARY_OPERATION_SIZE)
		name.length = SUMMARY_OPERATION_SIZE - 1;
	for (size_t i = 0; i < stream->operation_count; i++) {
		operation = &stream->operations[i];
		if (!memcmp(operation->name, name.at, name.length) && !operation->name[name.length])
			return operation;
	}
	operation = &stream->operations[stream->operation_count];
	if (stream->operation_count == SUMMARY_OPERATIONS_MAX) {
		strcpy(operation[-1].name, "(others)");
		operation[-1].usual = NAN;
		operation[-1].moves = 0;
		return operation - 1;
	}
	memcpy(operation->name, name.at, name.length);
	operation->usual = usual_of(summary->baseline, number, operation->name);
	operation->moves = iotr_moves(number, iotr_operation_find(number, operation->name));
	stream->operation_count++;
	return operation;
}

static int count_operation(struct summary_operation *operation, const struct facts *facts)
{
	operation->rows++;
	operation->errors += facts->failed;
	if (facts->layer == FACTS_STACKED)
		operation->stacked_bytes += facts->done;
	else
		operation->bytes += facts->done;
	if (facts->has_mono)
		rate_add(&operation->rate, facts->mono_ns);
	if (!facts->has_latency)
		return 0;
	if (!operation->latencies)
		operation->latencies = calloc(1, sizeof(*operation->latencies));
	if (!operation->latencies)
		return -ENOMEM;
	histogram_add(operation->latencies, facts->latency_ns);
	return 0;
}

/* ---- lists ---- */

/* What a row adds to sums. */
struct addend {
	unsigned int layer;
	struct top_sum sum;
};

static void count_text(struct summary *summary, enum summary_list list, struct trace_text key, const struct addend *addend)
{
	if (key.length)
		top_add(&summary->lists[list], key.at, key.length, addend->layer, &addend->sum);
}

/* Joins two cells by a mark. */
static void count_pair(struct summary *summary, enum summary_list list, struct trace_text first, char mark,
		       struct trace_text second, const struct addend *addend)
{
	char key[TOP_KEY_MAX], *at = key;

	if (first.length + second.length + 1 > sizeof(key))
		return;
	at = mempcpy(at, first.at, first.length);
	if (second.length)
		*at++ = mark;
	at = mempcpy(at, second.at, second.length);
	count_text(summary, list, (struct trace_text){ key, (size_t)(at - key) }, addend);
}

static void count_peer(struct summary *summary, const struct facts_columns *columns, const struct trace_rows *rows,
		       const struct addend *addend)
{
	struct trace_text address, port;
	char bracketed[64];

	facts_peer(columns, rows, &address, &port);
	if (!address.length)
		return;
	/* As `ss` shows them: 127.0.0.1:80, [::1]:80. Names of Unix sockets have no port. */
	if (port.length && address.length < sizeof(bracketed) - 2 && memchr(address.at, ':', address.length))
		address = (struct trace_text){ bracketed, (size_t)sprintf(bracketed, "[%.*s]", (int)address.length, address.at) };
	count_pair(summary, SUMMARY_PEERS, address, ':', port, addend);
}

/* The folder that a file is in, of two files the first one's; empty where the path does not say. */
static struct trace_text directory_of(struct trace_text file)
{
	const char *arrow = memmem(file.at, file.length, " -> ", 4);

	if (arrow)
		file.length = (size_t)(arrow - file.at);
	while (file.length && file.at[file.length - 1] != '/')
		file.length--;
	if (file.length > 1)
		file.length--;
	return file;
}

static void count_file(struct summary *summary, struct trace_text file, const struct addend *of, unsigned int moves)
{
	struct addend addend = *of;

	if (moves & IOTR_MOVES_COPY) /* the row does not name the file that was written */
		addend.sum.written = 0;
	count_text(summary, SUMMARY_FILES, file, &addend);
	count_text(summary, SUMMARY_DIRECTORIES, directory_of(file), &addend);
}

/* Remembers which disk a number belongs to, of as many as a machine has. */
static void note_disk(struct summary *summary, struct trace_text device, struct trace_text disk)
{
	struct summary_disk *known = summary->disks;

	for (size_t i = 0; i < summary->disk_count; i++, known++)
		if (trace_text_is(device, known->device))
			return;
	if (summary->disk_count == SUMMARY_DISKS_MAX || device.length >= sizeof(known->device) ||
	    disk.length >= sizeof(known->name))
		return;
	memcpy(known->device, device.at, device.length);
	memcpy(known->name, disk.at, disk.length);
	summary->disk_count++;
}

static void count_device(struct summary *summary, struct trace_text device, const struct addend *of)
{
	struct addend addend = *of;

	if (addend.layer == FACTS_STACKED) /* each disk is listed by itself */
		addend.layer = IOTR_BLOCK;
	if (addend.layer == IOTR_BLOCK || !summary->streams[IOTR_BLOCK].there)
		count_text(summary, SUMMARY_DEVICES, device, &addend);
}

static void count_lists(struct summary *summary, const struct facts_columns *columns, const struct trace_rows *rows,
			const struct facts *facts, const struct summary_operation *operation)
{
	const struct addend addend = {
		.layer = facts->layer,
		.sum = { .ns = facts->latency_ns, .rows = 1, .errors = facts->failed,
			 .read = operation->moves & IOTR_MOVES_READ ? facts->done : 0,
			 .written = operation->moves & IOTR_MOVES_WRITTEN ? facts->done : 0,
			 .latency = facts->has_latency && !isnan(operation->usual) ?
					    typical_of(facts->latency_ns, operation->usual) : (struct typical){ 0 } },
	};
	struct trace_text pid = facts_cell(rows, columns->pid), disk = facts_cell(rows, columns->disk);
	struct trace_text device = facts_cell(rows, columns->device);

	count_file(summary, facts_cell(rows, columns->file), &addend, operation->moves);
	/* What timers and the kernel do is of no process. */
	if (!trace_text_is(pid, "0"))
		count_pair(summary, SUMMARY_PROCESSES, pid, ' ', facts_cell(rows, columns->command), &addend);
	count_text(summary, SUMMARY_UNITS, facts_cell(rows, columns->cgroup_id), &addend);
	count_device(summary, device, &addend);
	if (disk.length)
		note_disk(summary, device, disk);
	if (columns->remote_address >= 0)
		count_peer(summary, columns, rows, &addend);
}

/* Cgroups with the same name are one unit. */
static int name_units(struct summary *summary)
{
	struct top named = { 0 }, *ids = &summary->lists[SUMMARY_UNITS];

	if (top_init(&named, ids->layers, ids->layer_count) < 0) {
		top_done(&named);
		return -ENOMEM;
	}
	memcpy(named.forgotten, ids->forgotten, sizeof(named.forgotten));
	for (size_t i = 0; i < ids->count; i++) {
		const struct top_entry *entry = &ids->entries[i];
		struct trace_text id = { top_key(ids, entry), entry->key_length };
		const struct cgroup_name *name = NULL;
		uint64_t number;
		char unknown[48];

		if (trace_text_u64(id, &number))
			name = cgroup_names_find(&summary->cgroups, number);
		snprintf(unknown, sizeof(unknown), "(cgroup %.*s)", (int)id.length, id.at);
		top_add_all(&named, name ? name->name : unknown, strlen(name ? name->name : unknown), entry);
	}
	top_done(ids);
	*ids = named;
	return 0;
}

/* ---- the whole ---- */

static void count_moved(struct summary_stream *stream, const struct facts *facts, unsigned int moves)
{
	bool stacked = facts->layer == FACTS_STACKED;

	stream->stacked_rows += stacked;
	if (moves & IOTR_MOVES_READ)
		*(stacked ? &stream->stacked_read : &stream->read) += facts->done;
	if (moves & IOTR_MOVES_WRITTEN)
		*(stacked ? &stream->stacked_written : &stream->written) += facts->done;
}

static int count_row(struct summary *summary, const struct facts_columns *columns, const struct trace_rows *rows)
{
	struct summary_stream *stream = &summary->streams[columns->stream];
	const struct summary_watcher *watcher = summary->watcher;
	struct summary_operation *operation;
	struct facts facts;

	facts_read(columns, rows, &facts);
	stream->rows++;
	stream->errors += facts.failed;
	if (facts.has_mono)
		rate_add(&stream->rate, facts.mono_ns);
	operation = find_operation(summary, columns->stream, facts_cell(rows, columns->operation));
	count_moved(stream, &facts, operation->moves);
	count_lists(summary, columns, rows, &facts, operation);
	if (watcher && watcher->row(watcher->watcher, columns, rows, &facts, operation->moves) < 0)
		return -ENOMEM;
	return count_operation(operation, &facts);
}

static int read_rows(struct summary *summary, const struct facts_columns *columns, struct trace_rows *rows,
		     struct verify_report *report)
{
	uint64_t told = 0;
	int r, none = 0;

	while (none >= 0 && (r = trace_rows_next(rows)) > 0) {
		none = count_row(summary, columns, rows);
		if (rows->rows % PROGRESS_ROWS)
			continue;
		verify_progress(report, rows->bytes - told);
		told = rows->bytes;
	}
	verify_progress(report, rows->bytes - told);
	return none < 0 ? none : r;
}

static int read_file(struct summary *summary, struct verify_trace *trace, const struct reading_file *file,
		     struct verify_report *report)
{
	struct facts_columns columns;
	struct trace_rows rows;
	int r = reading_open(trace, file, report, &rows);
	bool open = r >= 0;

	report->file = file->name.name;
	if (open) {
		facts_columns_find(&columns, file->number, &rows);
		r = read_rows(summary, &columns, &rows, report);
		summary->files++;
		summary->rows += rows.rows;
		summary->bad_rows += rows.bad_rows;
		summary->bytes += rows.bytes;
		summary->streams[file->number].stored_text += rows.bytes;
		reading_close(trace, file, report, &rows, r);
	} else {
		trace_rows_close(&rows);
	}
	return r == -ENOMEM ? r : 0;
}

/* Bytes of text, as far as the manifest knows. */
static uint64_t bytes_of(const struct verify_trace *trace)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < trace->segment_count; i++)
		if (trace->segments[i].state != VERIFY_REMOVED)
			bytes += trace->segments[i].bytes;
	return bytes;
}

int summary_read(struct summary *summary, struct verify_trace *trace, struct verify_report *report,
		 const struct summary_watcher *watcher, const struct summary_baseline *baseline)
{
	struct reading_files files = { 0 };
	int r = 0;

	*summary = (struct summary){ .watcher = watcher, .baseline = baseline };
	for (size_t i = 0; i < SUMMARY_LISTS && r >= 0; i++)
		r = top_init(&summary->lists[i], layered[i].layers, layered[i].count);
	for (size_t i = 0; i < trace->stream_count; i++) {
		int number = iotr_stream_find(trace->streams[i].flag);

		if (number >= 0)
			summary->streams[number].there = true;
	}
	report->bytes_total = bytes_of(trace);
	if (r >= 0)
		r = reading_files_list(trace, UINT32_MAX, report, &files);
	for (size_t i = 0; i < files.count && r >= 0; i++)
		r = read_file(summary, trace, &files.files[i], report);
	verify_progress_end(report);
	reading_files_done(&files);
	cgroup_names_read(trace->folder_fd, &summary->cgroups);
	return r < 0 ? r : name_units(summary);
}

void summary_baseline(const struct summary *summary, struct summary_baseline *ret)
{
	*ret = (struct summary_baseline){ 0 };
	for (size_t i = 0; i < IOTR_STREAM_COUNT; i++)
		for (size_t j = 0; j < summary->streams[i].operation_count; j++) {
			const struct summary_operation *operation = &summary->streams[i].operations[j];
			struct summary_usual *usual = &ret->operations[i][ret->counts[i]];
			struct percentile median = { 0 };

			if (operation->latencies)
				median = percentile_of(operation->latencies, 50);
			/* What is not known well would look like a change wherever there is more or less of it. */
			if (!median.known || (double)median.high > (double)median.low * (1 + 2 * SUMMARY_USUAL_ERROR))
				continue;
			strcpy(usual->name, operation->name);
			usual->usual = log2((double)(median.value ?: 1));
			ret->counts[i]++;
		}
}

const char *summary_disk(const struct summary *summary, const char *device)
{
	for (size_t i = 0; i < summary->disk_count; i++)
		if (!strcmp(summary->disks[i].device, device))
			return summary->disks[i].name;
	return "";
}

void summary_done(struct summary *summary)
{
	for (size_t i = 0; i < IOTR_STREAM_COUNT; i++)
		for (size_t j = 0; j < summary->streams[i].operation_count; j++)
			free(summary->streams[i].operations[j].latencies);
	for (size_t i = 0; i < SUMMARY_LISTS; i++)
		top_done(&summary->lists[i]);
	cgroup_names_done(&summary->cgroups);
}
