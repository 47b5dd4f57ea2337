// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/counting.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "amplification/describe.h"
#include "amplification/process.h"
#include "amplification/window.h"
#include "cleanup.h"
#include "json_add.h"
#include "log.h"
#include "pipeline/clocks.h"
#include "probes/hookset.h"
#include "probes/layers.h"
#include "probes/loading.h"
#include "session/json_time.h"

#define READ_US 500000 /* between two readings: processes are found, and accounts of ended ones are free, only then */

struct counting_watch {
	struct counting_watch *next;
	struct counting *counting;
	struct window *window; /* NULL: that of the permanent watch is looked at */
	counting_begun begun;  /* NULL: it was called */
	void *userdata;
	uint64_t since_ns; /* CLOCK_MONOTONIC: when it began */
	uint32_t process;  /* with which a command begins; 0: there is none */
	uint32_t command;  /* as a bit, from when it is followed */
	uint64_t unfollowed; /* processes of commands that could not be followed before it began */
};

struct counting {
	struct counting_config config;
	struct layers *layers; /* NULL: they are not loaded */
	struct load *loading;  /* NULL: that is not under way */
	struct processes *processes;
	struct counting_watch *watches;
	struct counting_watch *permanent; /* one of those, or NULL */
	sd_event_source *timer;
	struct loading_wait dirtied; /* for the programs that note who makes pages dirty */
	bool waiting, attached;
	uint32_t commands; /* that are followed, as bits */
	size_t count; /* of the watches, but for the permanent one */
};

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

static int read_all(struct counting *counting)
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
	read_all(userdata);
	sd_event_source_set_time_relative(source, READ_US);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* ---- watches ---- */

static void tell(struct counting_watch *watch, const struct engine_error *error)
{
	counting_begun begun = TAKE(watch->begun);

	begun(error, watch->userdata);
}

_Static_assert((int)COUNTING_WATCHES_MAX < (int)LAYERS_COMMANDS_MAX, "more watches than bits of commands");

/* Gives the command a bit that no other one has. */
static int follow(struct counting_watch *watch)
{
	struct counting *counting = watch->counting;
	uint32_t command = ~counting->commands & -~counting->commands;
	struct layers_statistics statistics;
	int r = layers_follow(counting->layers, watch->process, command);

	if (r < 0)
		return r;
	layers_statistics(counting->layers, &statistics);
	watch->unfollowed = statistics.unfollowed;
	watch->command = command;
	counting->commands |= command;
	return 0;
}

static void leave(struct counting_watch *watch)
{
	struct counting *counting = watch->counting;

	if (!watch->command)
		return;
	counting->commands &= ~watch->command;
	processes_forget_command(counting->processes, watch->command);
	if (counting->watches)
		layers_leave(counting->layers, watch->command); /* otherwise the layers go, with all that is in them */
}

/* What has been counted so far is read once, and is none of the window's. */
static void begin(struct counting *counting)
{
	struct counting_watch *watch = counting->watches, *next;
	struct engine_error error = { 0 };

	for (; watch; watch = watch->next) {
		if (!watch->begun || !watch->window)
			continue;
		watch->since_ns = clocks_mono_ns();
		if (watch->process && follow(watch) < 0)
			engine_fail(&error, -ESRCH, "pid", "there is no such process");
	}
	read_all(counting);
	for (watch = counting->watches; watch; watch = next) {
		next = watch->next;
		if (!watch->begun)
			continue;
		if (watch->window)
			window_begin(watch->window);
		tell(watch, watch->process && !watch->command ? &error : NULL);
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

/* All that is needed is loaded. */
static void on_loaded(struct loading_wait *wait)
{
	struct counting *counting = (struct counting *)((char *)wait - offsetof(struct counting, dirtied));
	struct engine_error error = { 0 };

	counting->waiting = false;
	if (attach(counting, &error) >= 0) {
		begin(counting);
		return;
	}
	stop(counting);
	fail(counting, &error);
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
	if (counting->attached)
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
	leave(watch);
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
		counting_watch_free(watch);
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

/* ---- what is told ---- */

static void add_missing(struct json_object *object, const struct layers_missing *missing, size_t count)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < count; i++) {
		struct json_object *one = json_object_new_object();

		add_string(one, "hook", missing[i].hook);
		add_string(one, "reason", missing[i].why);
		add_flag(one, "inexact", missing[i].inexact);
		json_object_array_add(array, one);
	}
	json_object_object_add(object, "missing", array);
}

/* Those that are not counted at all. */
static uint32_t layers_of(const struct layers_missing *missing, size_t count)
{
	uint32_t layers = 0;

	for (size_t i = 0; i < count; i++)
		if (!missing[i].inexact)
			layers |= missing[i].layers;
	return layers;
}

/* What waits in the page cache for being written, by the kernel's own count. */
static uint64_t dirty_bytes(void)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/meminfo", "re");
	uint64_t sum = 0, kib;
	int found = 0;
	char line[128];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "Dirty: %" SCNu64, &kib) == 1 || sscanf(line, "Writeback: %" SCNu64, &kib) == 1) {
			sum += kib * 1024;
			found++;
		}
	return found == 2 ? sum : UINT64_MAX;
}

static void add_statistics(struct json_object *object, const struct counting_watch *watch)
{
	struct layers_statistics statistics;

	layers_statistics(watch->counting->layers, &statistics);
	if (watch->command)
		add_u64(object, "unfollowed", statistics.unfollowed - watch->unfollowed);
	add_u64(object, "timed_one_in", IOTR_LAYER_TIMED_ONE);
	add_u64(object, "missed", statistics.missed);
}

int counting_look(struct counting_watch *watch, const struct group_wish *wished, size_t count, struct json_object **ret)
{
	struct group_wish wish = *wished;
	struct counting *counting = watch->counting;
	const struct counting_watch *seen = watch->window ? watch : counting->permanent;
	struct surroundings surroundings = { .dirty_bytes = dirty_bytes() };
	const struct layers_missing *missing = NULL;
	struct group_list list;
	struct json_object *object;
	size_t missing_count;
	int r;

	if (!seen || !counting->attached)
		return -ENOENT;
	wish.command = watch->command;
	r = read_all(counting);
	if (r >= 0)
		r = group_window(seen->window, &wish, &list);
	if (r < 0)
		return r;
	missing_count = layers_missing(counting->layers, &missing);
	object = json_object_new_object();
	add_mono_time(object, "since", seen->since_ns);
	add_u64(object, "duration_ns", clocks_mono_ns() - seen->since_ns);
	add_string(object, "by", group_by_name(wish.by));
	surroundings.missing = layers_of(missing, missing_count);
	describe_groups(&list, &wish, count, &surroundings, object);
	add_missing(object, missing, missing_count);
	add_statistics(object, watch);
	add_flag(object, "whole", window_whole(seen->window));
	group_list_done(&list);
	*ret = object;
	return 0;
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
