// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/bpf_cost.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "json_add.h"
#include "pipeline/clocks.h"

#define WINDOW_US 100000
#define PAUSE_US  9900000

struct bpf_cost {
	struct probes *probes;
	const struct hookset *hookset;
	sd_event_source *timer;
	int statistics; /* descriptor that keeps the statistics enabled, or -1 */
	int error;	/* why they are not available, as a positive errno */
	uint64_t begin_ns;
	struct probes_runs begin;
	uint64_t end_ns; /* end of the last window; 0: there was none */
	uint64_t window_ns;
	struct probes_runs runs; /* in the last window */
};

static void window_open(struct bpf_cost *cost)
{
	cost->statistics = bpf_enable_stats(BPF_STATS_RUN_TIME);
	cost->error = cost->statistics < 0 ? errno : 0;
	probes_runs(cost->probes, &cost->begin);
	cost->begin_ns = clocks_mono_ns();
}

static void window_close(struct bpf_cost *cost)
{
	struct probes_runs end;

	cost->end_ns = clocks_mono_ns();
	probes_runs(cost->probes, &end);
	close(cost->statistics);
	cost->statistics = -1;
	cost->window_ns = cost->end_ns - cost->begin_ns;
	cost->runs.count = end.count - cost->begin.count;
	cost->runs.ns = end.ns - cost->begin.ns;
}

/*
 * The time is relative to now, not to the event that is being handled, as reading the statistics takes a
 * while.
 */
static int again(struct bpf_cost *cost, uint64_t after_us)
{
	sd_event_source_set_time(cost->timer, clocks_mono_ns() / 1000 + after_us);
	return sd_event_source_set_enabled(cost->timer, SD_EVENT_ONESHOT);
}

static int on_timer(sd_event_source *source, uint64_t now, void *userdata)
{
	struct bpf_cost *cost = userdata;

	(void)source;
	(void)now;
	if (cost->statistics >= 0) {
		window_close(cost);
		return again(cost, PAUSE_US);
	}
	if (!hookset_wanted(cost->hookset)) {
		cost->end_ns = 0;
		return 0;
	}
	window_open(cost);
	return again(cost, cost->error ? PAUSE_US : WINDOW_US);
}

int bpf_cost_new(struct probes *probes, const struct hookset *hookset, sd_event *event, struct bpf_cost **ret)
{
	struct bpf_cost *cost = calloc(1, sizeof(*cost));
	int r;

	if (!cost)
		return -ENOMEM;
	cost->probes = probes;
	cost->hookset = hookset;
	cost->statistics = -1;
	r = sd_event_add_time_relative(event, &cost->timer, CLOCK_MONOTONIC, 0,
				       WINDOW_US / 100, on_timer, cost);
	if (r >= 0)
		r = sd_event_source_set_enabled(cost->timer, SD_EVENT_OFF);
	if (r < 0) {
		bpf_cost_free(cost);
		return r;
	}
	*ret = cost;
	return 0;
}

void bpf_cost_free(struct bpf_cost *cost)
{
	if (!cost)
		return;
	sd_event_source_disable_unref(cost->timer);
	closep(&cost->statistics);
	free(cost);
}

void bpf_cost_run(struct bpf_cost *cost)
{
	int enabled = SD_EVENT_OFF;

	sd_event_source_get_enabled(cost->timer, &enabled);
	if (enabled == SD_EVENT_OFF)
		again(cost, WINDOW_US);
}

struct json_object *bpf_cost_describe(const struct bpf_cost *cost)
{
	struct json_object *object = json_object_new_object();

	if (cost->error) {
		add_string(object, "reason", strerror(cost->error));
	} else if (cost->end_ns) {
		uint64_t runs = cost->runs.count, ns = cost->runs.ns;

		add_u64(object, "ns_per_s", ns * 1000000000 / cost->window_ns);
		add_u64(object, "runs_per_s", runs * 1000000000 / cost->window_ns);
		add_u64(object, "ns_per_run", runs ? ns / runs : 0);
		add_u64(object, "window_ns", cost->window_ns);
		add_u64(object, "age_ns", clocks_mono_ns() - cost->end_ns);
	}
	return object;
}
