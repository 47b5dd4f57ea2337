// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/amplified.h"

#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "formulas_json.h"
#include "json_add.h"
#include "moves.h"
#include "pseudo_fs.def"

/* What is counted, as layers of the table: each is one of the counts that the formulas are of. */
enum {
	CALL_READ,
	CALL_WRITE,
	DISK_READ,
	DISK_WRITE,
	MAP_READ,
	MAP_WRITE,
	DIRTIED,   /* by calls that write to the page cache, or, where the trace has the stream cache, by anybody */
	SUBMITTED, /* what is written back of that */
	COUNTED,
};

_Static_assert((int)COUNTED <= (int)TOP_LAYERS, "more counts than a table has sums of");

static const uint8_t order[COUNTED] = { CALL_READ, CALL_WRITE, MAP_READ, MAP_WRITE, DISK_READ, DISK_WRITE, DIRTIED, SUBMITTED };

static const enum iotr_layer layer_of[COUNTED] = {
	[CALL_READ] = IOTR_LAYER_APP_READ,	[CALL_WRITE] = IOTR_LAYER_APP_WRITE, [DISK_READ] = IOTR_LAYER_DEVICE_READ,
	[DISK_WRITE] = IOTR_LAYER_DEVICE_WRITE, [MAP_READ] = IOTR_LAYER_MAP_READ,    [MAP_WRITE] = IOTR_LAYER_MAP_WRITE,
	[DIRTIED] = IOTR_LAYER_CACHE_FOLIOS,	[SUBMITTED] = IOTR_LAYER_FS_WRITE,
};

int amplified_init(struct amplified *amplified)
{
	return top_init(&amplified->commands, order, COUNTED);
}

void amplified_done(struct amplified *amplified)
{
	top_done(&amplified->commands);
}

/* ---- rows ---- */

static void count(struct amplified *amplified, struct trace_text command, unsigned int what, const struct facts *facts,
		  uint64_t bytes)
{
	const struct top_sum sum = { .ns = facts->latency_ns, .rows = 1, .errors = facts->failed, .read = bytes };

	top_add(&amplified->commands, command.at, command.length, what, &sum);
	top_sum_add(&amplified->all[what], &sum);
}

/* Pipes, sockets and what else is no file of a disk, which a trace with --pseudo-fs has. */
static bool is_pseudo(struct trace_text type)
{
	static const char *const names[] = {
#define X(name, magic) name,
		IOTR_PSEUDO_FS(X)
#undef X
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (trace_text_is(type, names[i]))
			return true;
	return false;
}

static void count_call(struct amplified *amplified, const struct facts_columns *columns, const struct trace_rows *rows,
		       const struct facts *facts, unsigned int moves)
{
	struct trace_text command = facts_cell(rows, columns->command);

	if (is_pseudo(facts_cell(rows, columns->fs_type)))
		return;
	if (moves & IOTR_MOVES_READ)
		count(amplified, command, CALL_READ, facts, facts->done);
	if (moves & IOTR_MOVES_WRITTEN)
		count(amplified, command, CALL_WRITE, facts, facts->done);
}

static void count_request(struct amplified *amplified, const struct facts_columns *columns, const struct trace_rows *rows,
			  const struct facts *facts, unsigned int moves)
{
	if (facts->layer != FACTS_STACKED && moves)
		count(amplified, facts_cell(rows, columns->command), moves & IOTR_MOVES_READ ? DISK_READ : DISK_WRITE, facts,
		      facts->done);
}

/* Pages that no call made dirty, and no kernel thread: whose parent is kthreadd. */
static bool dirtied_by_fault(const struct facts_columns *columns, const struct trace_rows *rows)
{
	return !facts_cell(rows, columns->flow).length && facts_cell(rows, columns->inode).length &&
	       !trace_text_is(facts_cell(rows, columns->ppid), "2");
}

static void count_pages(struct amplified *amplified, const struct facts_columns *columns, const struct trace_rows *rows,
			const struct facts *facts)
{
	struct trace_text command = facts_cell(rows, columns->command), operation = facts_cell(rows, columns->operation);

	if (trace_text_is(operation, "WRITEBACK_START"))
		count(amplified, command, SUBMITTED, facts, facts->done);
	if (!trace_text_is(operation, "DIRTY"))
		return;
	count(amplified, command, DIRTIED, facts, facts->done);
	if (dirtied_by_fault(columns, rows))
		count(amplified, command, MAP_WRITE, facts, FACTS_PAGE_SIZE);
}

void amplified_row(struct amplified *amplified, const struct facts_columns *columns, const struct trace_rows *rows,
		   const struct facts *facts, unsigned int moves)
{
	if (columns->stream == IOTR_VFS && moves)
		count_call(amplified, columns, rows, facts, moves);
	else if (columns->stream == IOTR_BLOCK)
		count_request(amplified, columns, rows, facts, moves);
	else if (columns->stream == IOTR_CACHE)
		count_pages(amplified, columns, rows, facts);
	else if (columns->stream == IOTR_PAGEFAULT && trace_text_is(facts_cell(rows, columns->severity), "MAJOR"))
		count(amplified, facts_cell(rows, columns->command), MAP_READ, facts, FACTS_PAGE_SIZE);
}

/* ---- quotients ---- */

static void add_sum(struct json_object *object, const char *name, const struct top_sum *sum)
{
	struct json_object *one = json_object_new_object();

	add_u64(one, "operations", sum->rows);
	add_u64(one, "bytes", sum->read);
	add_u64(one, "errors", sum->errors);
	add_u64(one, "time_ns", sum->ns);
	json_object_object_add(object, name, one);
}

/* What the trace does not tell of. */
static struct surroundings surroundings_of(const struct summary *summary)
{
	struct surroundings surroundings = { .dirty_bytes = UINT64_MAX };

	if (!summary->streams[IOTR_VFS].there)
		surroundings.missing |= 1U << IOTR_LAYER_APP_READ | 1U << IOTR_LAYER_APP_WRITE | 1U << IOTR_LAYER_MAP_READ |
					1U << IOTR_LAYER_MAP_WRITE;
	if (!summary->streams[IOTR_BLOCK].there)
		surroundings.missing |= 1U << IOTR_LAYER_DEVICE_READ | 1U << IOTR_LAYER_DEVICE_WRITE;
	return surroundings;
}

/* Without the stream cache, what calls wrote and what reached disks says how much is not back. */
static void fill(const struct top_sum *counted, const struct summary *summary, struct iotr_layer_sum *sums)
{
	memset(sums, 0, IOTR_LAYER_COUNT * sizeof(*sums));
	for (size_t i = 0; i < COUNTED; i++)
		sums[layer_of[i]] = (struct iotr_layer_sum){ counted[i].rows, counted[i].read, counted[i].errors };
	if (summary->streams[IOTR_CACHE].there)
		return;
	sums[IOTR_LAYER_CACHE_DIRTIED] = sums[IOTR_LAYER_APP_WRITE];
	sums[IOTR_LAYER_FS_WRITE] = sums[IOTR_LAYER_DEVICE_WRITE];
}

static void add_factors(struct json_object *object, const struct top_sum *counted, const struct summary *summary)
{
	const struct surroundings surroundings = surroundings_of(summary);
	struct iotr_layer_sum sums[IOTR_LAYER_COUNT];

	fill(counted, summary, sums);
	for (enum flow flow = 0; flow < FLOWS; flow++) {
		struct json_object *one = json_object_new_object();
		struct flow_counts counts;

		flow_counts(flow, sums, &surroundings, &counts);
		json_object_object_add(one, "by_operations", factor_describe(factor_by_operations(&counts)));
		json_object_object_add(one, "by_bytes", factor_describe(factor_by_bytes(&counts)));
		json_object_object_add(object, flow_name(flow), one);
	}
}

static struct json_object *command_object(const char *name, size_t length, const struct top_sum *counted,
					  const struct summary *summary, bool exact)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "name", name ? json_object_new_string_len(name, (int)length) : NULL);
	add_sum(object, "call_read", &counted[CALL_READ]);
	add_sum(object, "call_write", &counted[CALL_WRITE]);
	add_sum(object, "disk_read", &counted[DISK_READ]);
	add_sum(object, "disk_write", &counted[DISK_WRITE]);
	add_sum(object, "mapped_read", &counted[MAP_READ]);
	add_sum(object, "mapped_write", &counted[MAP_WRITE]);
	add_factors(object, counted, summary);
	add_flag(object, "exact", exact);
	return object;
}

/* ---- commands ---- */

static uint64_t weight(const struct top_entry *entry)
{
	uint64_t bytes = 0;

	for (size_t i = CALL_READ; i <= DISK_WRITE; i++)
		bytes += entry->sums[i].read;
	return bytes;
}

static bool moves_data(const struct top_sum *counted)
{
	for (size_t i = CALL_READ; i <= MAP_WRITE; i++)
		if (counted[i].rows)
			return true;
	return false;
}

static int by_bytes(const void *a, const void *b)
{
	const struct top_entry *left = *(const struct top_entry *const *)a, *right = *(const struct top_entry *const *)b;

	if (weight(left) != weight(right))
		return weight(left) < weight(right) ? 1 : -1;
	return left < right ? -1 : left > right; /* as they came */
}

static void take_off(struct top_sum *from, const struct top_sum *sum)
{
	from->ns -= sum->ns;
	from->rows -= sum->rows;
	from->errors -= sum->errors;
	from->read -= sum->read;
}

struct json_object *amplified_object(const struct amplified *amplified, const struct summary *summary, size_t most)
{
	const struct top *commands = &amplified->commands;
	struct json_object *object = json_object_new_object(), *array = json_object_new_array();
	_cleanup_free_ const struct top_entry **entries = calloc(commands->count + 1, sizeof(*entries));
	struct top_sum others[TOP_LAYERS];
	size_t count = 0;

	memcpy(others, amplified->all, sizeof(others));
	for (size_t i = 0; entries && i < commands->count; i++)
		if (moves_data(commands->entries[i].sums))
			entries[count++] = &commands->entries[i];
	if (count)
		qsort(entries, count, sizeof(*entries), by_bytes);
	for (size_t i = 0; i < count && i < most; i++) {
		json_object_array_add(array, command_object(top_key(commands, entries[i]), entries[i]->key_length,
							    entries[i]->sums, summary, !entries[i]->at_least));
		/* All, less those that are shown: so that the sum is right however many commands were forgotten. */
		for (size_t j = 0; j < COUNTED; j++)
			take_off(&others[j], &entries[i]->sums[j]);
	}
	add_flag(object, "vfs", summary->streams[IOTR_VFS].there);
	add_flag(object, "block", summary->streams[IOTR_BLOCK].there);
	add_flag(object, "cache", summary->streams[IOTR_CACHE].there);
	add_flag(object, "pagefault", summary->streams[IOTR_PAGEFAULT].there);
	json_object_object_add(object, "commands", array);
	json_object_object_add(object, "others", moves_data(others) ? command_object(NULL, 0, others, summary, true) : NULL);
	json_object_object_add(object, "all", command_object(NULL, 0, amplified->all, summary, true));
	return object;
}
