// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What control/ sees of sessions, hooks and snapshots. Here the parts are made and put together; a request goes
 * to the part that it is for.
 */
#include "engine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cleanup.h"
#include "json_add.h"
#include "log.h"
#include "pipeline/cells/flags.h"
#include "pipeline/clocks.h"
#include "probes/control_page.h"
#include "probes/loading.h"
#include "probes/own.h"
#include "schema.h"
#include "selftest/doctor.h"
#include "session/amplification.h"
#include "session/anonymity.h"
#include "session/ask_snapshot.h"
#include "session/dump.h"
#include "session/fired.h"
#include "session/log_folder.h"
#include "session/look.h"
#include "session/missing.h"
#include "session/resume.h"
#include "session/rotate.h"
#include "session/set.h"
#include "session/tail.h"
#include "session/tick.h"
#include "session/totals.h"
#include "session/triggers.h"
#include "spec/definition.h"

#define ERRANDS_NS 2000000000ULL /* time that the daemon's end gives to errands */

struct engine {
	struct session_context context;
	struct registry *registry;
	struct tick tick;
	struct triggers *triggers;
	struct totals totals;
	struct vitals consumer; /* of its thread */
	struct recovery *recovery; /* of the folders of killed sessions; NULL: there is no memory for it */
	struct engine_dump *dumps; /* dumps that are being written */
	struct doctor *doctor;
	sd_event_source *notices;
	const char *block_flags[32];
};

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

/* A thread or a writer has results for the main loop. */
static int on_notice(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct engine *engine = userdata;
	eventfd_t value;

	(void)source, (void)events;
	eventfd_read(fd, &value);
	registry_see_to(engine->registry);
	return 0;
}

static int open_notice(struct engine *engine)
{
	struct session_context *context = &engine->context;

	context->notice = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (context->notice < 0)
		return -errno;
	context->errands.notice = context->notice;
	return sd_event_add_io(context->event, &engine->notices, context->notice, EPOLLIN, on_notice, engine);
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

/* ---- sessions ---- */

int engine_start(struct engine *engine, const struct iotr_session_spec *spec, const struct rights *owner,
		 engine_start_handler handler, void *userdata, struct engine_error *error)
{
	return registry_start(engine->registry, spec, owner, NULL, handler, userdata, error);
}

int engine_stop(struct engine *engine, const char *name, engine_handler handler, void *userdata)
{
	return registry_stop(engine->registry, name, handler, userdata);
}

int engine_set(struct engine *engine, const char *name, const struct engine_change *change,
	       engine_set_handler handler, void *userdata, struct engine_setting **ret, struct engine_error *error)
{
	return set_new(engine->registry, name, change, handler, userdata, ret, error);
}

void engine_set_cancel(struct engine_setting *setting)
{
	set_cancel(setting);
}

int engine_rotate(struct engine *engine, const char *name, engine_handler handler, void *userdata)
{
	struct session *session = registry_find_running(engine->registry, name);

	return session ? rotate_new(session, handler, userdata) : -ENOENT;
}

int engine_status(struct engine *engine, const char *name, struct json_object **ret)
{
	return registry_status(engine->registry, name, ret);
}

int engine_definition(struct engine *engine, const char *name, struct json_object **ret, bool *ends)
{
	const struct session *session = registry_find(engine->registry, name);

	if (!session)
		return -ENOENT;
	*ret = definition_note(&session->spec);
	*ends = session->reason != NULL;
	return 0;
}

/* ---- rows of a session ---- */

int engine_dump_new(struct engine *engine, const char *name, uint64_t last_ns, const char *output,
		    const struct rights *caller, engine_dump_handler handler, void *userdata, struct engine_dump **ret,
		    struct engine_error *error)
{
	struct session *session = registry_find_running(engine->registry, name);

	if (!session)
		return -ENOENT;
	return dump_new(session, &engine->dumps, last_ns, output, caller, handler, userdata, ret, error);
}

void engine_dump_forget(struct engine_dump *dump)
{
	dump_forget(dump);
}

int engine_look(struct engine *engine, const char *name, const struct engine_look *look, uint64_t *since_ns,
		struct json_object **ret)
{
	struct session *session = registry_find(engine->registry, name);

	return session ? look_at(session, look, since_ns, ret) : -ENOENT;
}

const char *engine_look_order(const char *name)
{
	return look_order(name);
}

const char *engine_look_by(const char *name)
{
	return look_by(name);
}

int engine_tail_new(struct engine *engine, const char *name, uint32_t stream_mask, engine_tail_handler handler,
		    void *userdata, struct engine_tail **ret)
{
	struct session *session = registry_find(engine->registry, name);

	if (!session || (session->state != SESSION_RUNNING && session->state != SESSION_ENDING))
		return -ENOENT;
	return tail_new(session, stream_mask, handler, userdata, ret);
}

void engine_tail_free(struct engine_tail *tail)
{
	tail_free(tail);
}

/* ---- counts by layer ---- */

int engine_amplification_new(struct engine *engine, const struct engine_amplification_wish *wish,
			     engine_begun_handler begun, void *userdata, struct engine_amplification **ret,
			     struct engine_error *error)
{
	return amplification_new(&engine->context, wish, begun, userdata, ret, error);
}

int engine_amplification_look(struct engine_amplification *amplification, struct json_object **ret)
{
	return amplification_look(amplification, ret);
}

void engine_amplification_free(struct engine_amplification *amplification)
{
	amplification_free(amplification);
}

/* ---- snapshots ---- */

int engine_snapshot_kind(const char *name)
{
	return snapshot_kind_find(name);
}

int engine_snapshot_new(struct engine *engine, const struct engine_snapshot_request *request,
			engine_snapshot_handler handler, void *userdata, struct engine_snapshot **ret,
			struct engine_error *error)
{
	const struct session *session =
		request->name ? registry_find_running(engine->registry, request->name) : NULL;

	return ask_snapshot_new(&engine->context, session, request, handler, userdata, ret, error);
}

void engine_snapshot_free(struct engine_snapshot *snapshot)
{
	ask_snapshot_free(snapshot);
}

/* ---- the daemon ---- */

int engine_doctor_new(struct engine *engine, engine_doctor_handler handler, void *userdata,
		      struct engine_doctor **ret)
{
	return doctor_ask(engine->doctor, handler, userdata, ret);
}

void engine_doctor_free(struct engine_doctor *doctor)
{
	doctor_leave(doctor);
}

struct engine_wait {
	struct loading_wait programs;
	struct probes *probes;
	engine_wait_handler handler;
	void *userdata;
};

static void on_loaded(struct loading_wait *programs)
{
	struct engine_wait *wait = (struct engine_wait *)programs; /* its first member */

	wait->handler(wait->userdata);
}

int engine_wait_new(struct engine *engine, engine_wait_handler handler, void *userdata, struct engine_wait **ret)
{
	struct probes *probes = engine->context.probes;
	struct engine_wait *wait;

	*ret = NULL;
	if (loading_done(probes, LOADING_ALL))
		return 0;
	wait = malloc(sizeof(*wait));
	if (!wait)
		return -ENOMEM;
	*wait = (struct engine_wait){ { .groups = LOADING_ALL, .loaded = on_loaded }, probes, handler, userdata };
	loading_await(probes, &wait->programs);
	*ret = wait;
	return 0;
}

void engine_wait_free(struct engine_wait *wait)
{
	if (wait)
		loading_leave(wait->probes, &wait->programs);
	free(wait);
}

int engine_cost(struct engine *engine, struct json_object **ret)
{
	struct json_object *cost = json_object_new_object();

	rates_describe_daemon(&engine->tick.daemon, cost);
	json_object_object_add(cost, "bpf", bpf_cost_describe(engine->context.bpf_cost));
	*ret = cost;
	return 0;
}

static uint64_t stuck_session(struct session *session, uint64_t now)
{
	const struct row_sink_ops *ops = session->sink->ops;
	uint64_t turns = 0;
	bool has_to = session->state == SESSION_RUNNING && ops->turns && ops->turns(session->sink, &turns);

	return vitals_look(&session->vitals, has_to, turns, now);
}

uint64_t engine_stuck(struct engine *engine, char *what, size_t size)
{
	uint64_t now = clocks_mono_ns(), turns = 0, longest;
	struct session *session;
	bool has_to = consumer_turns(engine->context.consumer, &turns);

	longest = vitals_look(&engine->consumer, has_to, turns, now);
	snprintf(what, size, "the thread that takes up rows");
	for (size_t i = 0; (session = registry_at(engine->registry, i)); i++) {
		uint64_t stuck = stuck_session(session, now);

		if (stuck <= longest)
			continue;
		longest = stuck;
		snprintf(what, size, "the writer of session %s", session->spec.name);
	}
	return longest;
}

static struct json_object *storage_describe(struct storage *storage)
{
	struct json_object *object = json_object_new_object();
	struct storage_limits limits;
	uint64_t used;

	storage_usage(storage, &used, &limits);
	add_u64(object, "used", used);
	add_u64(object, "max_use", limits.max_use);
	add_u64(object, "keep_free", limits.keep_free);
	return object;
}

int engine_totals(struct engine *engine, struct json_object **ret)
{
	const struct session_context *context = &engine->context;
	struct json_object *totals = json_object_new_object();

	add_string(totals, "level", probes_level_name(probes_level(context->probes)));
	add_flag(totals, "loaded", loading_done(context->probes, LOADING_ALL));
	json_object_object_add(totals, "streams", totals_describe(&engine->totals, engine->registry));
	add_u64(totals, "ended", engine->totals.count);
	json_object_object_add(totals, "storage", storage_describe(context->storage));
	*ret = totals;
	return 0;
}

static struct json_object *columns_describe(const struct iotr_schema *schema)
{
	struct json_object *columns = json_object_new_array();

	for (size_t i = 0; i < schema->column_count; i++) {
		struct json_object *column = json_object_new_object();

		add_string(column, "name", schema->columns[i].name);
		add_string(column, "type", iotr_type_name(schema->columns[i].type));
		add_string(column, "unit", schema->columns[i].unit);
		add_string(column, "doc", schema->columns[i].doc);
		json_object_array_add(columns, column);
	}
	return columns;
}

int engine_streams(struct engine *engine, struct json_object **ret)
{
	struct json_object *streams = json_object_new_array();

	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++) {
		struct json_object *entry = json_object_new_object();

		add_string(entry, "flag", iotr_schemas[stream].flag);
		add_string(entry, "folder", iotr_schemas[stream].folder);
		add_string(entry, "doc", iotr_schemas[stream].doc);
		json_object_object_add(entry, "operations", missing_operations(engine->context.probes, stream));
		json_object_object_add(entry, "columns", columns_describe(&iotr_schemas[stream]));
		json_object_array_add(streams, entry);
	}
	*ret = streams;
	return 0;
}
