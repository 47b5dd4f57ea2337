// SPDX-License-Identifier: GPL-2.0-or-later
/* The engine from start to end: its parts are made and put together here, and ended in an order in which nothing is lost. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cleanup.h"
#include "engine_private.h"
#include "log.h"
#include "pipeline/cells/flags.h"
#include "pipeline/clocks.h"
#include "probes/control_page.h"
#include "probes/loading.h"
#include "probes/own.h"
#include "selftest/doctor.h"
#include "session/anonymity.h"
#include "session/dump.h"
#include "session/fired.h"
#include "session/log_folder.h"
#include "session/resume.h"
#include "session/triggers.h"

#define ERRANDS_NS 2000000000ULL /* time that the daemon's end gives to errands */

/* ---- the self-test's two slots ---- */

static const struct hookset_wish all_streams = { .streams = (1U << IOTR_STREAM_COUNT) - 1 };

static int reserve(unsigned int slots[SELFTEST_SLOTS], void *userdata)
{
	struct session_context *context = userdata;
	int r = slots_reserve(&context->slots, SELFTEST_SLOTS, slots);

	if (r < 0)
		return r;
	consumer_run(context->consumer, true);
	hookset_want(context->hookset, &all_streams);
	return 0;
}

static void give_back(void *userdata)
{
	struct session_context *context = userdata;

	slots_unreserve(&context->slots);
	hookset_unwant(context->hookset, &all_streams);
	hookset_release(context->hookset);
	consumer_run(context->consumer, hookset_wanted(context->hookset));
}

/* ---- life ---- */

static int level_find(const char *name, enum probes_level *ret)
{
	static const char *const names[] = {
		[PROBES_AUTO] = "auto",
		[PROBES_FUNCTION] = "function",
		[PROBES_TRACEPOINT] = "tracepoint",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], name ?: "auto")) {
			*ret = i;
			return 0;
		}
	return -EINVAL;
}

void engine_own(struct engine *engine, pid_t process, bool own)
{
	if (own)
		own_add(engine->context.probes, process);
	else
		own_remove(engine->context.probes, process);
}

static void on_snapshot_process(pid_t process, bool begins, void *userdata)
{
	engine_own(userdata, process, begins);
}

/* Results that many wait for come with pauses in between, see errands_take_turn(). */
static void see_to(struct engine *engine)
{
	uint64_t again_ns = registry_see_to(engine->registry);

	if (!again_ns)
		return;
	sd_event_source_set_time(engine->again, again_ns / 1000 + 1);
	sd_event_source_set_enabled(engine->again, SD_EVENT_ONESHOT);
}

/* A thread or a writer has results for the main loop. */
static int on_notice(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct engine *engine = userdata;
	eventfd_t value;

	(void)source, (void)events;
	eventfd_read(fd, &value);
	see_to(engine);
	return 0;
}

static int on_again(sd_event_source *source, uint64_t usec, void *userdata)
{
	(void)source, (void)usec;
	see_to(userdata);
	return 0;
}

static int open_notice(struct engine *engine)
{
	struct session_context *context = &engine->context;
	int r;

	context->notice = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (context->notice < 0)
		return -errno;
	context->errands.notice = context->notice;
	r = sd_event_add_time(context->event, &engine->again, CLOCK_MONOTONIC, 0, 1, on_again, engine);
	if (r >= 0)
		r = sd_event_source_set_enabled(engine->again, SD_EVENT_OFF);
	return r < 0 ? r : sd_event_add_io(context->event, &engine->notices, context->notice, EPOLLIN, on_notice, engine);
}

/* The programs, as far as this kernel takes them. */
static int open_probes(struct engine *engine, struct engine_error *error)
{
	struct session_context *context = &engine->context;
	struct probes_config config = {
		.ring_size = context->config.ring_size,
		.symbols = context->config.symbols,
		.bequest = context->config.bequest,
		.hooks = context->config.hooks,
	};
	int r = level_find(context->config.level, &config.level);

	if (r < 0)
		return engine_fail(error, r, "level", "unknown level: auto, function and tracepoint exist");
	r = probes_new(&config, &context->probes, error->message, sizeof(error->message));
	if (r < 0)
		return engine_fail(error, r, "", NULL);
	control_page_block(context->probes, engine->block_flags);
	flags_set_block_bits(engine->block_flags);
	log_info("BPF programs have their hooks at %s level", probes_level_name(probes_level(context->probes)));
	r = loading_begin(context->probes, context->event);
	return r < 0 ? engine_fail(error, r, "", "cannot start the thread that loads the programs") : 0;
}

static int open_consumer(struct session_context *context)
{
	struct consumer_config config = {
		.names = probes_map(context->probes, "names"),
		.known = probes_known(context->probes),
		.known_count = IOTR_KNOWN,
	};
	int r;

	config.rings = probes_rings(context->probes, &config.ring_count);
	r = consumer_new(&config, &context->consumer);
	context->slots.probes = context->probes;
	context->slots.consumer = context->consumer;
	return r;
}

static void on_session_runs(void *userdata)
{
	struct engine *engine = userdata;

	tick_run(&engine->tick);
	if (engine->triggers) /* otherwise the daemon ends */
		triggers_run(engine->triggers, engine->registry);
	bpf_cost_run(engine->context.bpf_cost);
}

static void on_session_ended(const struct session *session, void *userdata)
{
	struct engine *engine = userdata;

	totals_add(&engine->totals, session);
}

static int open_counting(struct session_context *context)
{
	const struct counting_config config = {
		.event = context->event,
		.errands = &context->errands,
		.probes = context->probes,
		.hookset = context->hookset,
		.groups = context->groups,
		.rules = context->config.systems,
	};

	return counting_new(&config, &context->counting);
}

/* What only needs memory. */
static int open_parts(struct engine *engine)
{
	struct session_context *context = &engine->context;
	const struct selftest_config selftest = { .event = context->event,
						  .state_dir = context->config.state_dir,
						  .probes = context->probes,
						  .consumer = context->consumer,
						  .reserve = reserve,
						  .give_back = give_back,
						  .userdata = context };
	const struct orders_config orders = { .event = context->event, .country = &context->config.country };
	const struct triggers_config triggers = { context->event, &context->errands, context->probes, fired, &engine->dumps };
	const struct registry_config registry = { context, on_session_runs, on_session_ended, engine };
	int r = hookset_new(context->probes, context->event, &context->hookset);

	if (r >= 0)
		r = bpf_cost_new(context->probes, context->hookset, context->event, &context->bpf_cost);
	if (r >= 0)
		r = orders_new(&orders, &context->orders);
	if (r >= 0)
		r = groups_new(context->event, &context->errands, &context->groups);
	if (r >= 0)
		r = open_counting(context);
	if (r >= 0)
		r = doctor_new(&selftest, &engine->doctor);
	if (r >= 0)
		r = triggers_new(&triggers, &engine->triggers);
	if (r >= 0)
		r = registry_new(&registry, &engine->registry);
	engine->tick.registry = engine->registry;
	return r < 0 ? r : tick_init(&engine->tick, context);
}

static int open_all(struct engine *engine, struct engine_error *error)
{
	struct session_context *context = &engine->context;
	int r = open_notice(engine);

	if (r < 0)
		return engine_fail(error, r, "", "cannot set up the event loop");
	r = open_probes(engine, error);
	if (r < 0)
		return r;
	r = log_folder_open(context);
	if (r < 0)
		return engine_fail(error, r, "", "cannot start the thread that compresses and removes files");
	r = open_consumer(context);
	if (r < 0)
		return engine_fail(error, r, "", "cannot read the rings of the BPF programs");
	r = open_parts(engine);
	return r < 0 ? engine_fail(error, r, "", "out of memory") : 0;
}

/* Resumes sessions, and starts the thread that recovers the folders of those that were killed. */
static void resume(struct engine *engine)
{
	struct session_context *context = &engine->context;
	int r = recovery_new(context->config.state_dir, &context->log_rights, context->limited, context->storage,
			     &engine->recovery);

	resume_sessions(engine->registry, context, engine->recovery);
	if (r >= 0)
		r = recovery_start(engine->recovery);
	if (r < 0)
		log_error("cannot recover the files of killed sessions, which is tried again at the next start: %s",
			  strerror(-r));
}

DEFINE_CLEANUP(struct engine *, engine_free);

int engine_new(const struct engine_config *config, sd_event *event, struct engine **ret,
	       struct engine_error *error)
{
	_cleanup_(engine_freep) struct engine *engine = calloc(1, sizeof(*engine));
	int r;

	if (!engine)
		return engine_fail(error, -ENOMEM, "", "out of memory");
	engine->context.config = *config;
	engine->context.event = sd_event_ref(event);
	engine->context.notice = -1;
	r = open_all(engine, error);
	if (r < 0)
		return r;
	snapshot_watch(on_snapshot_process, engine);
	anonymize_prepare(config->state_dir);
	resume(engine);
	counting_set_permanent(engine->context.counting, config->counting);
	*ret = TAKE(engine);
	return 0;
}

/* Ends everything that may have to wait for a disk. */
static void end_all(struct engine *engine)
{
	struct session_context *context = &engine->context;

	if (!engine->registry)
		return;
	registry_end(engine->registry);
	if (!recovery_end(engine->recovery))
		context->hung = context->abandoned = true;
	if (!dumps_end(&engine->dumps, &context->errands))
		context->hung = context->abandoned = true;
	context->abandoned |= !errands_end(&context->errands, clocks_mono_ns() + ERRANDS_NS);
	snapshot_removals_end(clocks_mono_ns() + ERRANDS_NS);
}

bool engine_free(struct engine *engine)
{
	struct session_context *context;
	bool ended;

	if (!engine)
		return true;
	context = &engine->context;
	snapshot_watch(NULL, NULL);
	doctor_free(engine->doctor);
	triggers_free(TAKE(engine->triggers));
	end_all(engine);
	tick_done(&engine->tick);
	registry_free(engine->registry);
	bpf_cost_free(context->bpf_cost);
	orders_free(context->orders);
	counting_free(context->counting);
	hookset_free(context->hookset);
	groups_free(context->groups);
	consumer_free(context->consumer);
	probes_free(context->probes);
	ended = context->abandoned ? storage_stop(context->storage) : storage_free(context->storage);
	if (!ended)
		log_message(ABOUT(LEFT_BEHIND),
			    "compression waits for a disk that does not answer: the daemon ends without waiting for "
			    "it");
	ended &= !context->hung;
	sd_event_source_disable_unref(engine->notices);
	sd_event_source_disable_unref(engine->again);
	if (context->notice >= 0 && !context->abandoned)
		close(context->notice);
	sd_event_unref(context->event);
	free(engine);
	return ended;
}

void engine_set_storage(struct engine *engine, const struct engine_storage *limits)
{
	log_folder_limit(&engine->context, limits);
}

void engine_set_counting(struct engine *engine, bool counting)
{
	counting_set_permanent(engine->context.counting, counting);
}
