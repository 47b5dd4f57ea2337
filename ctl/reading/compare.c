// SPDX-License-Identifier: GPL-2.0-or-later
#include "reading/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "output/json.h"
#include "reading/time_text.h"

/* ---- sides ---- */

static bool time_of(const struct verify_trace *trace, const char *member, uint64_t *ns)
{
	const char *text = text_of(trace->json, member, NULL);

	return text && time_text_ns((struct trace_text){ text, strlen(text) }, ns);
}

/* From begin to end of the session; while it runs, as far as its rows go. */
static double seconds_of(const struct compare_side *side)
{
	uint64_t begin, end, least = UINT64_MAX, greatest = 0;

	if (time_of(side->trace, "started", &begin) && time_of(side->trace, "ended", &end) && end > begin)
		return (double)(end - begin) / 1e9;
	for (size_t i = 0; i < IOTR_STREAM_COUNT; i++) {
		const struct rate *rate = &side->summary->streams[i].rate;

		if (!rate->used)
			continue;
		least = rate->from_ns < least ? rate->from_ns : least;
		end = rate->from_ns + rate->width_ns * rate->used;
		greatest = end > greatest ? end : greatest;
	}
	return greatest > least ? (double)(greatest - least) / 1e9 : 1e-9;
}

static double missing_of(const struct verify_stream *stream)
{
	return stream->unknown || stream->unfollowed ? INFINITY : (double)(stream->lost + stream->removed);
}

static void measure_missing(struct compare_side *side)
{
	for (size_t i = 0; i < side->trace->stream_count; i++) {
		int number = iotr_stream_find(side->trace->streams[i].flag);

		if (number >= 0)
			side->missing[number] = missing_of(&side->trace->streams[i]);
	}
}

static void measure(struct compare_side *side)
{
	measure_missing(side);
	side->seconds = seconds_of(side);
}

/* ---- operations ---- */

static const struct summary_operation *find(const struct summary_stream *stream, const char *name)
{
	for (size_t i = 0; i < stream->operation_count; i++)
		if (!strcmp(stream->operations[i].name, name))
			return &stream->operations[i];
	return NULL;
}

static struct sample rows_of(const struct compare_side *side, enum iotr_stream stream, const struct summary_operation *operation)
{
	struct sample sample = { .exposure = side->seconds, .dispersion = 1, .missing = side->missing[stream] };

	if (operation) {
		sample.count = operation->rows;
		sample.dispersion = rate_dispersion(&operation->rate);
	}
	return sample;
}

/* Where there are no rows, nothing is known of their errors. */
static struct change change_of_errors(const struct summary_operation *a, const struct summary_operation *b)
{
	if (!a || !b)
		return (struct change){ .direction = SAME };
	return rate_change(&(struct sample){ a->errors, (double)a->rows, 1, 0 },
			   &(struct sample){ b->errors, (double)b->rows, 1, 0 });
}

static void compare_latencies(struct compared_operation *operation)
{
	for (size_t i = 0; i < PERCENTILES; i++) {
		for (size_t side = 0; side < 2; side++)
			if (operation->of[side] && operation->of[side]->latencies)
				operation->percentiles[side][i] =
					percentile_of(operation->of[side]->latencies, shown_percentiles[i].percent);
		operation->latencies[i] = percentile_change(&operation->percentiles[0][i], &operation->percentiles[1][i]);
	}
}

static void add_operation(struct compare *compare, enum iotr_stream stream, const struct summary_operation *a,
			  const struct summary_operation *b)
{
	struct compared_operation *operation = &compare->operations[compare->operation_count++];
	struct sample before = rows_of(&compare->sides[0], stream, a), after = rows_of(&compare->sides[1], stream, b);

	*operation = (struct compared_operation){ .stream = stream, .name = a ? a->name : b->name, .of = { a, b } };
	operation->rows = rate_change(&before, &after);
	operation->errors = change_of_errors(a, b);
	compare_latencies(operation);
}

static uint64_t most_rows(const struct compared_operation *operation)
{
	uint64_t a = operation->of[0] ? operation->of[0]->rows : 0, b = operation->of[1] ? operation->of[1]->rows : 0;

	return a > b ? a : b;
}

static int by_stream_and_rows(const void *left, const void *right)
{
	const struct compared_operation *a = left, *b = right;

	if (a->stream != b->stream)
		return a->stream < b->stream ? -1 : 1;
	if (most_rows(a) != most_rows(b))
		return most_rows(a) < most_rows(b) ? 1 : -1;
	return strcmp(a->name, b->name);
}

static int compare_operations(struct compare *compare)
{
	compare->operations = calloc((size_t)IOTR_STREAM_COUNT * 2 * SUMMARY_OPERATIONS_MAX, sizeof(*compare->operations));
	if (!compare->operations)
		return -ENOMEM;
	for (enum iotr_stream i = 0; i < IOTR_STREAM_COUNT; i++) {
		const struct summary_stream *a = &compare->sides[0].summary->streams[i];
		const struct summary_stream *b = &compare->sides[1].summary->streams[i];

		if (!a->there || !b->there) /* what was not recorded is not gone */
			continue;
		for (size_t j = 0; j < a->operation_count; j++)
			add_operation(compare, i, &a->operations[j], find(b, a->operations[j].name));
		for (size_t j = 0; j < b->operation_count; j++)
			if (!find(a, b->operations[j].name))
				add_operation(compare, i, NULL, &b->operations[j]);
	}
	qsort(compare->operations, compare->operation_count, sizeof(*compare->operations), by_stream_and_rows);
	return 0;
}

bool compare_differs(const struct compared_operation *operation)
{
	bool differs = operation->rows.direction != SAME || operation->errors.direction != SAME;

	for (size_t i = 0; i < PERCENTILES; i++)
		differs |= operation->latencies[i] != SAME;
	return differs;
}

/* ---- lists ---- */

/* The stream that rows of a layer are of. */
static enum iotr_stream stream_of(unsigned int layer)
{
	return layer == FACTS_STACKED ? IOTR_BLOCK : (enum iotr_stream)layer;
}

/* What only one of them recorded is not compared. */
static bool in_both(const struct compare *compare, unsigned int layer)
{
	return compare->sides[0].summary->streams[stream_of(layer)].there &&
	       compare->sides[1].summary->streams[stream_of(layer)].there;
}

static struct compared_key key_of(const struct top *top, const struct top_entry *entry, enum summary_list list)
{
	struct compared_key key = { .key = top_key(top, entry), .length = entry->key_length, .partial = entry->at_least };
	const char *space = list == SUMMARY_PROCESSES ? memchr(key.key, ' ', key.length) : NULL;

	if (space) {
		key.length -= (size_t)(space + 1 - key.key);
		key.key = space + 1;
	}
	return key;
}

/* Adds a key for each layer that an entry has rows of. `keys` may be NULL: they are only counted. */
static size_t take_keys(const struct compare *compare, enum summary_list list, size_t side, struct compared_key *keys)
{
	const struct top *top = &compare->sides[side].summary->lists[list];
	size_t count = 0;

	for (size_t i = 0; i < top->count; i++)
		for (unsigned int layer = 0; layer < FACTS_LAYERS; layer++) {
			if (!top->entries[i].sums[layer].rows || !in_both(compare, layer))
				continue;
			if (keys) {
				keys[count] = key_of(top, &top->entries[i], list);
				keys[count].layer = layer;
				keys[count].sums[side] = top->entries[i].sums[layer];
			}
			count++;
		}
	return count;
}

static int by_key(const void *left, const void *right)
{
	const struct compared_key *a = left, *b = right;
	int order = memcmp(a->key, b->key, a->length < b->length ? a->length : b->length);

	if (!order && a->length != b->length)
		order = a->length < b->length ? -1 : 1;
	return order ?: (a->layer > b->layer) - (a->layer < b->layer);
}

/* Makes one of those that are equal. Returns how many are left. */
static size_t join(struct compared_key *keys, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		if (!kept || by_key(&keys[kept - 1], &keys[i]) != 0) {
			keys[kept++] = keys[i];
			continue;
		}
		keys[kept - 1].partial |= keys[i].partial;
		top_sum_add(&keys[kept - 1].sums[0], &keys[i].sums[0]);
		top_sum_add(&keys[kept - 1].sums[1], &keys[i].sums[1]);
	}
	return kept;
}

static struct sample rows_of_key(const struct compare_side *side, const struct compared_key *key, const struct top_sum *sum)
{
	enum iotr_stream stream = stream_of(key->layer);

	return (struct sample){ sum->rows, side->seconds, fmax(1, rate_dispersion(&side->summary->streams[stream].rate)),
				side->missing[stream] };
}

static void judge_key(const struct compare *compare, struct compared_key *key)
{
	const struct compare_side *a = &compare->sides[0], *b = &compare->sides[1];
	struct sample before = rows_of_key(a, key, &key->sums[0]), after = rows_of_key(b, key, &key->sums[1]);

	key->rows = rate_change(&before, &after);
	if (!key->partial)
		key->latency = typical_change(&key->sums[0].latency, &key->sums[1].latency);
	key->busier = (double)key->sums[1].ns / 1e9 / b->seconds - (double)key->sums[0].ns / 1e9 / a->seconds;
}

static int by_time(const void *left, const void *right)
{
	const struct compared_key *a = left, *b = right;
	double more = fabs(b->busier) - fabs(a->busier);

	if (more > 0 || more < 0)
		return more > 0 ? 1 : -1;
	return by_key(a, b);
}

static int compare_list(struct compare *compare, enum summary_list which)
{
	struct compared_list *list = &compare->lists[which];
	const struct top *tops[2] = { &compare->sides[0].summary->lists[which], &compare->sides[1].summary->lists[which] };
	size_t count = take_keys(compare, which, 0, NULL);

	list->keys = calloc(count + take_keys(compare, which, 1, NULL) + 1, sizeof(*list->keys));
	if (!list->keys)
		return -ENOMEM;
	list->forgotten = top_forgot(tops[0]) || top_forgot(tops[1]);
	take_keys(compare, which, 0, list->keys);
	count += take_keys(compare, which, 1, list->keys + count);
	qsort(list->keys, count, sizeof(*list->keys), by_key);
	list->all = join(list->keys, count);
	for (size_t i = 0; i < list->all; i++) {
		struct compared_key key = list->keys[i];
		bool unsure = (!key.sums[0].rows && top_forgot(tops[0])) || (!key.sums[1].rows && top_forgot(tops[1]));

		judge_key(compare, &key);
		if (!unsure && (key.rows.direction != SAME || key.latency.direction != SAME))
			list->keys[list->count++] = key;
	}
	qsort(list->keys, list->count, sizeof(*list->keys), by_time);
	return 0;
}

/* ---- the whole ---- */

int compare_make(struct compare *compare)
{
	int r;

	measure(&compare->sides[0]);
	measure(&compare->sides[1]);
	r = compare_operations(compare);
	for (enum summary_list list = 0; list < SUMMARY_LISTS && r >= 0; list++)
		r = compare_list(compare, list);
	return r;
}

void compare_done(struct compare *compare)
{
	free(compare->operations);
	for (size_t i = 0; i < SUMMARY_LISTS; i++)
		free(compare->lists[i].keys);
}
