// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/timings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "log.h"

/* The stream of a place that has no operation. */
#define NO_STREAM IOTR_STREAM_COUNT

/* What is known of each operation, while the programs are loaded. */
struct seen {
	struct iotr_timing counts[IOTR_TIMING_WATCHES]; /* at the last look */
	struct iotr_timing since[IOTR_TIMING_WATCHES];	/* what was added until then */
	bool known[IOTR_TIMING_WATCHES];		/* `since` is of one look to the next */
	bool begun[IOTR_TIMING_WATCHES];		/* `counts` is known */
};

struct timings {
	struct errands *errands;
	struct probes *probes;
	struct timing *timing; /* NULL: it is not loaded */
	struct load *loading;  /* NULL: that is not under way */
	struct seen *seen;     /* there if `timing` is */
	struct timing_operation operations[IOTR_TIMING_WATCHES]; /* by watch */
	size_t count; /* of the operations */
	char error[160];
};

int timings_new(struct errands *errands, struct probes *probes, struct timings **ret)
{
	struct timings *timings = calloc(1, sizeof(*timings));

	if (!timings)
		return -ENOMEM;
	timings->errands = errands;
	timings->probes = probes;
	for (size_t i = 0; i < IOTR_TIMING_WATCHES; i++)
		timings->operations[i].stream = NO_STREAM;
	*ret = timings;
	return 0;
}

/* ---- loading ---- */

struct load {
	struct errand errand;
	struct timings *timings;
	struct probes *probes;
	struct timing *timing;
	char why[160];
	int result;
};

static struct load *load_of(struct errand *errand)
{
	return (struct load *)errand; /* its first member */
}

static void load_work(struct errand *errand)
{
	struct load *load = load_of(errand);

	load->result = timing_load(load->probes, &load->timing, load->why, sizeof(load->why));
}

static void load_drop(struct errand *errand)
{
	timing_free(load_of(errand)->timing);
	free(load_of(errand));
}

static void unload(struct timings *timings)
{
	timing_free(TAKE(timings->timing));
	free(TAKE(timings->seen));
}

/* It is not tried again while operations are wanted: the kernel would say the same. */
static void fail(struct timings *timings, int r, const char *why)
{
	unload(timings);
	snprintf(timings->error, sizeof(timings->error), "%s", why);
	log_message(ABOUT(HOOK_MISSING, .hook = "timing", .error = -r), "triggers on operations do not act: %s", why);
}

static void load_done(struct errand *errand)
{
	struct load *load = load_of(errand);
	struct timings *timings = load->timings;
	int r = load->result;

	timings->loading = NULL;
	if (r >= 0 && timings->count) {
		timings->timing = TAKE(load->timing);
		timings->seen = calloc(1, sizeof(*timings->seen));
		snprintf(load->why, sizeof(load->why), "out of memory");
		r = timings->seen ? timing_watch(timings->timing, timings->operations, IOTR_TIMING_WATCHES) : -ENOMEM;
		if (r >= 0)
			r = timing_attach(timings->timing, load->why, sizeof(load->why));
	}
	if (r < 0)
		fail(timings, r, load->why);
	load_drop(errand);
}

static void load_begin(struct timings *timings)
{
	struct load *load = calloc(1, sizeof(*load));

	if (!load)
		return; /* the next look tries again */
	load->errand = (struct errand){ .work = load_work, .done = load_done, .drop = load_drop, .unbounded = true };
	load->timings = timings;
	load->probes = timings->probes;
	if (errand_begin(timings->errands, &load->errand) < 0)
		free(load);
	else
		timings->loading = load;
}

void timings_free(struct timings *timings)
{
	if (!timings)
		return;
	if (timings->loading)
		errand_abandon(&timings->loading->errand);
	unload(timings);
	free(timings);
}

/* ---- what is wanted ---- */

static bool same(const struct timing_operation *a, const struct timing_operation *b)
{
	return a->stream == b->stream && a->operation == b->operation;
}

static int find(const struct timing_operation *operations, size_t count, const struct timing_operation *operation)
{
	for (size_t i = 0; i < count; i++)
		if (same(&operations[i], operation))
			return (int)i;
	return -1;
}

static int free_place(const struct timings *timings)
{
	const struct timing_operation none = { .stream = NO_STREAM };

	for (size_t i = 0; i < IOTR_TIMING_WATCHES; i++)
		if (timings->operations[i].stream == none.stream)
			return (int)i;
	return -1;
}

static void forget(struct timings *timings, size_t watch)
{
	timings->operations[watch] = (struct timing_operation){ .stream = NO_STREAM };
	timings->count--;
	if (timings->seen)
		timings->seen->known[watch] = timings->seen->begun[watch] = false;
}

/* Makes the places those of these operations; each keeps its place. Returns whether anything has changed. */
static bool places_set(struct timings *timings, const struct timing_operation *operations, size_t count)
{
	bool changed = false;
	int place;

	for (size_t i = 0; i < IOTR_TIMING_WATCHES; i++)
		if (timings->operations[i].stream != NO_STREAM && find(operations, count, &timings->operations[i]) < 0) {
			forget(timings, i);
			changed = true;
		}
	for (size_t i = 0; i < count; i++) {
		if (find(timings->operations, IOTR_TIMING_WATCHES, &operations[i]) >= 0)
			continue;
		place = free_place(timings);
		if (place < 0)
			break;
		timings->operations[place] = operations[i];
		timings->count++;
		changed = true;
	}
	return changed;
}

void timings_want(struct timings *timings, const struct timing_operation *operations, size_t count)
{
	bool changed = places_set(timings, operations, count);
	int r;

	if (!timings->count) {
		unload(timings);
		timings->error[0] = '\0';
		return;
	}
	if (!timings->timing && !timings->loading && !timings->error[0])
		load_begin(timings);
	r = timings->timing && changed ? timing_watch(timings->timing, timings->operations, IOTR_TIMING_WATCHES) : 0;
	if (r < 0)
		fail(timings, r, strerror(-r));
}

/* ---- what was counted ---- */

/* Numbers of 32 bits wrap around, so the difference is taken in 32 bits, too. */
static void subtract(const struct iotr_timing *now, const struct iotr_timing *before, struct iotr_timing *ret)
{
	ret->ended = now->ended - before->ended;
	ret->failed = now->failed - before->failed;
	ret->latency_ns = now->latency_ns - before->latency_ns;
	for (size_t i = 0; i < IOTR_TIMING_BUCKETS; i++)
		ret->latency[i] = now->latency[i] - before->latency[i];
	for (size_t i = 0; i < IOTR_TIMING_ERRNOS; i++)
		ret->errnos[i] = now->errnos[i] - before->errnos[i];
}

void timings_take(struct timings *timings)
{
	struct seen *seen = timings->seen;
	struct iotr_timing now;

	for (size_t i = 0; seen && i < IOTR_TIMING_WATCHES; i++) {
		if (timings->operations[i].stream == NO_STREAM)
			continue;
		seen->known[i] = false;
		if (timing_read(timings->timing, i, &now) < 0)
			continue;
		if (seen->begun[i]) {
			subtract(&now, &seen->counts[i], &seen->since[i]);
			seen->known[i] = true;
		}
		seen->counts[i] = now;
		seen->begun[i] = true;
	}
}

const struct iotr_timing *timings_of(const struct timings *timings, const struct timing_operation *operation)
{
	int place = timings->seen ? find(timings->operations, IOTR_TIMING_WATCHES, operation) : -1;

	return place >= 0 && timings->seen->known[place] ? &timings->seen->since[place] : NULL;
}

const char *timings_error(const struct timings *timings)
{
	return timings->error;
}

/* The shortest latency that a bucket is of. */
static uint64_t bucket_ns(size_t bucket)
{
	uint64_t units = bucket < 8 ? bucket : (8 + bucket % 8) << (bucket / 8 - 1);

	return units * IOTR_TIMING_UNIT_NS;
}

uint64_t timing_quantile(const struct iotr_timing *timing, unsigned int permille)
{
	uint64_t all = 0, below = 0, rank;

	for (size_t i = 0; i < IOTR_TIMING_BUCKETS; i++)
		all += timing->latency[i];
	rank = (all * permille + 999) / 1000;
	for (size_t i = 0; i < IOTR_TIMING_BUCKETS; i++) {
		below += timing->latency[i];
		if (below && below >= rank)
			return bucket_ns(i);
	}
	return 0;
}
