// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/counting.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "log.h"
#include "pipeline/clocks.h"
#include "probes/hookset.h"
#include "session/counting_private.h"

#define READ_US 500000 /* between two readings: processes are found, and accounts of ended ones are free, only then */

/* ---- what the kernel has counted ---- */

static const struct process *hold(struct counting *counting, const struct layers_account *account)
{
	struct iotr_layer_key key = account->key;

	switch (account->kind) {
	case LAYERS_OWN:
		return NULL;
	case LAYERS_OTHER:
		return processes_others(counting->processes);
	case LAYERS_KERNEL:
		key.process = 0;
		break;
	case LAYERS_PROCESS:
		break;
	}
	return processes_hold(counting->processes, &key, &account->process);
}

static void on_account(const struct layers_account *account, void *userdata)
{
	struct counting *counting = userdata;
	const struct process *process = hold(counting, account);
	struct counts counts;

	if (!process)
		return;
	if (account->kind == LAYERS_PROCESS && counting->commands & ~process->commands)
		process_set_commands(process, process->commands | layers_commands(counting->layers, &account->key));
	memcpy(counts.sums, account->sums, sizeof(counts.sums));
	memcpy(counts.latency_ns, account->latency_ns, sizeof(counts.latency_ns));
	memcpy(counts.latency, account->latency, sizeof(counts.latency));
	for (struct counting_watch *watch = counting->watches; watch; watch = watch->next)
		if (watch->window)
			window_add(watch->window, &account->key, process, &counts, account->last);
	processes_let_go(counting->processes, process);
}

int counting_read(struct counting *counting)
{
	int r = layers_read(counting->layers, on_account, counting);

	processes_settle(counting->processes);
	for (struct counting_watch *watch = counting->watches; watch; watch = watch->next)
		if (watch->window)
			window_tidy(watch->window);
	return r;
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
	(void)usec;
	counting_read(userdata);
	sd_event_source_set_time_relative(source, READ_US);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* ---- watches ---- */

static void tell(struct counting_watch *watch, const struct engine_error *error)
{
	counting_begun begun = TAKE(watch->begun);

	begun(error, watch->userdata);
}

/* What has been counted so far is read once, and is none of the window's. */
static void begin(struct counting *counting)
{
	struct counting_watch *watch, *next;

	for (watch = counting->watches; watch; watch = watch->next) {
		if (!watch->begun || !watch->window)
			continue;
		watch->since_ns = clocks_mono_ns();
		if (watch->process)
			command_follow(watch);
	}
	counting_read(counting);
	for (watch = counting->watches; watch; watch = next) {
		next = watch->next;
		if (!watch->begun)
			continue;
		if (watch->window)
			window_begin(watch->window);
		tell(watch, watch->process && !watch->command ? &watch->why : NULL);
	}
}

static void fail(struct counting *counting, const struct engine_error *error)
{
	struct counting_watch *watch = counting->watches, *next;

	for (; watch; watch = next) {
		next = watch->next;
		if (watch->begun)
			tell(watch, error);
	}
}

/* ---- loading ---- */

struct load {
	struct errand errand;
	struct counting *counting;
	struct probes *probes;
	struct layers *layers;
	struct engine_error error;
	int result;
};

static struct load *load_of(struct errand *errand)
{
	return (struct load *)((char *)errand - offsetof(struct load, errand));
}

static void load_work(struct errand *errand)
{
	struct load *load = load_of(errand);

	load->result = layers_load(load->probes, &load->layers, load->error.message, sizeof(load->error.message));
}

static void load_drop(struct errand *errand)
{
	layers_free(load_of(errand)->layers);
	free(load_of(errand));
}

static void stop(struct counting *counting)
{
	if (counting->waiting)
		loading_leave(counting->config.probes, &counting->dirtied);
	if (counting->attached) {
		groups_end(counting->config.groups);
		hookset_drop_dirtied(counting->config.hookset);
	}
	counting->waiting = counting->attached = false;
	layers_free(TAKE(counting->layers));
	sd_event_source_disable_unref(TAKE(counting->timer));
}

static int attach(struct counting *counting, struct engine_error *error)
{
	int r;

	hookset_hold_dirtied(counting->config.hookset);
	r = layers_attach(counting->layers);
	if (r < 0) {
		hookset_drop_dirtied(counting->config.hookset);
		return engine_fail(error, r, "", "the kernel does not let the programs that count by layer be attached");
	}
	groups_begin(counting->config.groups);
	counting->attached = true;
	return sd_event_add_time_relative(counting->config.event, &counting->timer, CLOCK_MONOTONIC, READ_US, READ_US / 10,
					  on_timer, counting);
}

static struct counting *waiting_of(struct loading_wait *wait)
{
	return (struct counting *)((char *)wait - offsetof(struct counting, dirtied));
}

static void on_attached(struct loading_wait *wait)
{
	struct counting *counting = waiting_of(wait);

	counting->waiting = false;
	begin(counting);
}

/* All that is needed is loaded. What is written counts for who made it dirty, so that has to be seen before. */
static void on_loaded(struct loading_wait *wait)
{
	struct counting *counting = waiting_of(wait);
	struct probes *probes = counting->config.probes;
	struct engine_error error = { 0 };

	counting->waiting = false;
	if (attach(counting, &error) < 0) {
		stop(counting);
		fail(counting, &error);
		return;
	}
	if (!(probes_lacks(probes) & 1U << PROBES_LACK_DIRTIERS)) {
		begin(counting);
		return;
	}
	counting->waiting = true;
	counting->dirtied = (struct loading_wait){ .lacks = 1U << PROBES_LACK_DIRTIERS, .loaded = on_attached };
	loading_await(probes, &counting->dirtied);
}

static void load_done(struct errand *errand)
{
	struct load *load = load_of(errand);
	struct counting *counting = load->counting;
	int r = load->result;

	counting->loading = NULL;
	if (!counting->watches) { /* whoever wanted it has gone */
		load_drop(errand);
		return;
	}
	if (r >= 0) {
		counting->layers = TAKE(load->layers);
		counting->waiting = true;
		counting->dirtied = (struct loading_wait){ .groups = 1U << PROBES_DIRTIED, .loaded = on_loaded };
		if (loading_done(counting->config.probes, counting->dirtied.groups))
			on_loaded(&counting->dirtied);
		else
			loading_await(counting->config.probes, &counting->dirtied);
	} else {
		fail(counting, &load->error);
	}
	free(load);
}

static int load_begin(struct counting *counting)
{
	struct load *load = calloc(1, sizeof(*load));
	int r;

	if (!load)
		return -ENOMEM;
	*load = (struct load){ .errand = { .work = load_work, .done = load_done, .drop = load_drop, .unbounded = true },
			       .counting = counting, .probes = counting->config.probes };
	r = errand_begin(counting->config.errands, &load->errand);
	if (r < 0)
		free(load);
	else
		counting->loading = load;
	return r;
}

static int start(struct counting *counting)
{
	if (counting->attached && !counting->waiting) /* otherwise all begin together, once it is seen who makes pages dirty */
		begin(counting);
	return counting->layers || counting->loading ? 0 : load_begin(counting);
}

/* ---- who watches ---- */

static int watch_new(struct counting *counting, bool window, counting_begun begun, void *userdata,
		     struct counting_watch **ret)
{
	struct counting_watch *watch = calloc(1, sizeof(*watch));
	int r = watch ? 0 : -ENOMEM;

	if (r >= 0 && window)
		r = window_new(counting->processes, &watch->window);
	if (r < 0) {
		free(watch);
		return r;
	}
	watch->counting = counting;
	watch->begun = begun;
	watch->userdata = userdata;
	watch->next = counting->watches;
	counting->watches = *ret = watch;
	return 0;
}

static void watch_drop(struct counting_watch *watch)
{
	struct counting_watch **at = &watch->counting->watches;

	while (*at != watch)
		at = &(*at)->next;
	*at = watch->next;
	command_leave(watch);
	window_free(watch->window);
	if (!watch->counting->watches)
		stop(watch->counting);
	free(watch);
}

int counting_watch_new(struct counting *counting, const struct counting_wish *wish, counting_begun begun, void *userdata,
		       struct counting_watch **ret)
{
	struct counting_watch *watch;
	int r;

	if (wish->since_start && !counting->permanent)
		return -ENOENT;
	if (counting->count >= COUNTING_WATCHES_MAX)
		return -EBUSY;
	r = watch_new(counting, !wish->since_start, begun, userdata, &watch);
	if (r < 0)
		return r;
	watch->process = wish->process;
	counting->count++;
	*ret = watch;
	r = start(counting);
	if (r < 0)
		counting_watch_free(TAKE(*ret));
	return r;
}

void counting_watch_free(struct counting_watch *watch)
{
	if (!watch)
		return;
	watch->counting->count--;
	watch_drop(watch);
}

/* ---- counting all the time ---- */

static void on_permanent(const struct engine_error *error, void *userdata)
{
	struct counting *counting = userdata;

	if (!error) {
		log_info("I/O is counted by layer from now on");
		return;
	}
	log_error("I/O is not counted by layer: %s", error->message);
	watch_drop(TAKE(counting->permanent));
}

void counting_set_permanent(struct counting *counting, bool permanent)
{
	int r = 0;

	if (permanent == (counting->permanent != NULL))
		return;
	if (!permanent) {
		watch_drop(TAKE(counting->permanent));
		log_info("I/O is not counted by layer any more");
		return;
	}
	r = watch_new(counting, true, on_permanent, counting, &counting->permanent);
	if (r >= 0)
		r = start(counting);
	if (r >= 0)
		return;
	log_error("I/O is not counted by layer: %s", strerror(-r));
	if (counting->permanent)
		watch_drop(TAKE(counting->permanent));
}

/* ---- life ---- */

static bool cgroup_path(uint64_t id, char *path, size_t size, void *userdata)
{
	return groups_path(userdata, id, path, size);
}

int counting_new(const struct counting_config *config, struct counting **ret)
{
	const struct processes_config processes = {
		.proc = "/proc",
		.rules = config->rules,
		.cgroup_path = cgroup_path,
		.userdata = config->groups,
	};
	struct counting *counting = calloc(1, sizeof(*counting));
	int r;

	if (!counting)
		return -ENOMEM;
	counting->config = *config;
	r = processes_new(&processes, &counting->processes);
	if (r < 0)
		free(counting);
	else
		*ret = counting;
	return r;
}

void counting_free(struct counting *counting)
{
	if (!counting)
		return;
	while (counting->watches)
		watch_drop(counting->watches);
	stop(counting);
	processes_free(counting->processes);
	free(counting);
}
