// SPDX-License-Identifier: GPL-2.0-or-later
/* Each way of a session through its states, with a fake probe set and a fake sink. */
#include "session/session.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <time.h>

#include "cleanup.h"
#include "fake_disk.h"
#include "fake_probes.h"
#include "log.h"
#include "pipeline/clocks.h"
#include "session/registry.h"
#include "session/set.h"
#include "suite.h"

#define SECOND_NS 1000000000ULL

static struct session_context context;
static struct session *session;
static struct registry *registry;
static struct router *router;

/* ---- a consumer without rings ---- */

static bool drains;

struct router *consumer_router(struct consumer *consumer)
{
	(void)consumer;
	return router;
}

void consumer_run(struct consumer *consumer, bool run)
{
	(void)consumer;
	drains = run;
}

void consumer_drain(struct consumer *consumer)
{
	(void)consumer;
}

/* ---- a fake sink ---- */

static struct {
	struct row_sink base;
	int slot; /* from which it gets rows; -1: none yet */
	bool later; /* its end takes its time, until fake_sink_written() */
	bool hangs; /* its end never comes */
	const char *limit;
	int ends, frees, looks, definitions;
	const char *reason; /* of its end; NULL: discarded */
	bool open_at_end;   /* rows might still have come when it was ended */
	row_sink_handler handler;
	void *userdata;
} fake;

static int fake_attach(struct row_sink *sink, struct router *to, unsigned int slot)
{
	(void)sink, (void)to;
	fake.slot = (int)slot;
	return 0;
}

static void fake_counts(const struct row_sink *sink, enum iotr_stream stream, struct row_counts *ret)
{
	(void)sink, (void)stream;
	*ret = (struct row_counts){ .rows = 7 };
}

static void fake_report(struct row_sink *sink, enum iotr_stream stream, const struct writer_probes *probes)
{
	(void)sink, (void)stream, (void)probes;
}

static void fake_look(struct row_sink *sink)
{
	(void)sink;
	fake.looks++;
}

static const char *fake_limit(const struct row_sink *sink)
{
	(void)sink;
	return fake.limit;
}

static int fake_redefine(struct row_sink *sink, struct json_object *definition)
{
	(void)sink, (void)definition;
	fake.definitions++;
	return 0;
}

static int fake_end(struct row_sink *sink, const char *reason, row_sink_handler handler, void *userdata)
{
	(void)sink;
	fake.ends++;
	fake.reason = reason;
	fake.open_at_end = fake.slot >= 0 && fake_probes.open[fake.slot];
	fake.handler = handler;
	fake.userdata = userdata;
	return fake.later || fake.hangs ? 0 : -ENOENT;
}

static bool fake_await(struct row_sink *sink, uint64_t until_ns)
{
	(void)sink, (void)until_ns;
	return !fake.hangs;
}

static void fake_describe_stream(const struct row_sink *sink, enum iotr_stream stream,
				 const struct row_counts *counts, struct json_object *status)
{
	(void)sink, (void)stream, (void)counts, (void)status;
}

static void fake_describe(const struct row_sink *sink, struct json_object *status)
{
	(void)sink, (void)status;
}

static struct json_object *fake_losses(const struct row_sink *sink, size_t most)
{
	(void)sink, (void)most;
	return json_object_new_array();
}

static void fake_free(struct row_sink *sink)
{
	(void)sink;
	fake.frees++;
}

static const struct row_sink_ops fake_ops = {
	.attach = fake_attach, .counts = fake_counts, .report = fake_report, .look = fake_look,
	.limit = fake_limit, .redefine = fake_redefine, .end = fake_end, .await = fake_await,
	.describe_stream = fake_describe_stream, .describe = fake_describe, .losses = fake_losses,
	.free = fake_free,
};

/* ---- what the creator of a session learns ---- */

static struct {
	int started, ended; /* number of calls */
	int result;
	char message[sizeof(((struct engine_error *)NULL)->message)];
	enum session_state state; /* at the end */
} told;

static void on_started(struct session *of, int result, const struct engine_error *error)
{
	ck_assert_ptr_eq(of, session);
	told.started++;
	told.result = result;
	snprintf(told.message, sizeof(told.message), "%s", error->message);
}

static void on_ended(struct session *of)
{
	ck_assert_ptr_eq(of, session);
	told.ended++;
	told.state = of->state;
	session_free(TAKE(session));
}

static const struct session_events events = { .started = on_started, .ended = on_ended };

/* ---- frame ---- */

static const struct rights owner = { .uid = 4711 };

static void spec_fill(struct iotr_session_spec *spec, bool paths)
{
	*spec = (struct iotr_session_spec){ .name = "s", .streams = 1U << IOTR_VFS,
					    .flight_recorder = IOTR_FLIGHT_RECORDER_MIN };
	if (!paths)
		return;
	spec->paths = calloc(1, sizeof(*spec->paths));
	strcpy(spec->paths[0], "/somewhere");
	spec->path_count = 1;
}

/* A session with the fake sink; `paths`: its start has to look for paths. */
static void make(bool paths)
{
	struct iotr_session_spec spec;

	spec_fill(&spec, paths);
	ck_assert_int_eq(session_new(&context, &spec, &owner, slots_find(&context.slots), &events, NULL, &session), 0);
	session->sink->ops->free(session->sink);
	session->sink = session->slots.sink = &fake.base;
	iotr_session_spec_done(&spec);
}

static int open_it(void)
{
	struct engine_error error = { 0 };

	return session_open(session, NULL, &error);
}

/* A session that starts, and waits for a disk. */
static void start_and_hang(void)
{
	fake_disk_hold();
	make(true);
	ck_assert_int_eq(open_it(), 0);
	ck_assert_int_eq(session->state, SESSION_STARTING);
}

static void run_one(void)
{
	make(false);
	ck_assert_int_eq(open_it(), 0);
	ck_assert_int_eq(session->state, SESSION_RUNNING);
}

/* The thread that opens is done: the main loop learns of it. */
static void thread_done(void)
{
	eventfd_t value;

	fake_disk_let_go();
	ck_assert_int_eq(eventfd_read(context.notice, &value), 0);
	errands_see_to(&context.errands);
}

static void on_runs(void *userdata)
{
	(void)userdata;
}

static void begin(void)
{
	const struct registry_config config = { .context = &context, .runs = on_runs };

	log_open();
	fake_probes_reset();
	memset(&fake, 0, sizeof(fake));
	memset(&told, 0, sizeof(told));
	fake.base.ops = &fake_ops;
	fake.slot = -1;
	context = (struct session_context){ .config = { .state_dir = "/nonexistent", .log_dir = "/nonexistent" } };
	context.notice = context.errands.notice = eventfd(0, EFD_CLOEXEC);
	ck_assert_int_ge(sd_event_new(&context.event), 0);
	ck_assert_int_eq(hookset_new(NULL, context.event, &context.hookset), 0);
	ck_assert_int_eq(router_new(&(struct router_config){ 0 }, &router), 0);
	ck_assert_int_eq(registry_new(&config, &registry), 0);
}

static void end(void)
{
	ck_assert_ptr_null(session);
	registry_end(registry);
	registry_free(registry);
	fake_disk_let_go();
	errands_end(&context.errands, clocks_mono_ns() + 60 * SECOND_NS);
	router_free(router);
	hookset_free(context.hookset);
	sd_event_unref(context.event);
	close(context.notice);
}

/* Nothing of the session is left on the control page, among the hooks, or in a slot. */
static void nothing_left(void)
{
	ck_assert_ptr_null(session);
	ck_assert_int_eq(told.started, 1);
	ck_assert_int_eq(told.ended, 1);
	ck_assert_int_eq(fake.frees, 1);
	ck_assert(!hookset_wanted(context.hookset));
	for (size_t bit = 0; bit < IOTR_SESSIONS_MAX; bit++) {
		ck_assert(!fake_probes.prepared[bit] && !fake_probes.open[bit]);
		ck_assert_ptr_null(context.slots.states[bit].owner);
	}
}

/* ---- its ways ---- */

START_TEST(runs)
{
	run_one();
	ck_assert_int_eq(told.started, 1);
	ck_assert_int_eq(told.result, 0);
	ck_assert_int_eq(fake.slot, session->slots.slot.bit);
	ck_assert(fake_probes.open[fake.slot] && fake_probes.attached[PROBES_CALLS] && drains);
	fake.later = true;
	session_end(session, SESSION_STOPPED);
	ck_assert_int_eq(session->state, SESSION_ENDING);
	ck_assert_str_eq(fake.reason, "stopped");
	ck_assert(!fake.open_at_end && !drains);
	session_end(session, "duration"); /* does nothing */
	ck_assert_str_eq(session->reason, "stopped");
	ck_assert_int_eq(fake.ends, 1);
	fake.handler(fake.userdata);
	ck_assert_int_eq(session->state, SESSION_ENDED);
	session_collect(session);
	ck_assert_int_eq(told.state, SESSION_ENDED);
	nothing_left();
}
END_TEST

START_TEST(ends_at_once)
{
	run_one();
	session_end(session, SESSION_STOPPED);
	ck_assert_int_eq(told.state, SESSION_ENDED);
	nothing_left();
}
END_TEST

START_TEST(reaches_a_limit)
{
	run_one();
	session_collect(session);
	ck_assert_int_eq(session->state, SESSION_RUNNING);
	fake.limit = "max-size";
	fake.later = true;
	session_collect(session);
	ck_assert_int_eq(session->state, SESSION_ENDING);
	ck_assert_str_eq(session->reason, "max-size");
	session_collect(session); /* the limit is told again */
	ck_assert_int_eq(fake.ends, 1);
	fake.handler(fake.userdata);
	session_collect(session);
	nothing_left();
}
END_TEST

START_TEST(lasts_for_its_duration)
{
	make(false);
	session->spec.duration_ns = 1000000;
	ck_assert_int_eq(open_it(), 0);
	for (int i = 0; session && i < 100; i++)
		sd_event_run(context.event, 100000);
	ck_assert_str_eq(fake.reason, "duration");
	nothing_left();
}
END_TEST

START_TEST(starts_on_a_slow_disk)
{
	start_and_hang();
	ck_assert_int_eq(told.started, 0);
	session_collect(session);
	ck_assert_int_eq(session->state, SESSION_STARTING);
	thread_done();
	ck_assert_int_eq(session->state, SESSION_RUNNING);
	ck_assert_ptr_nonnull(session->paths);
	session_end(session, SESSION_STOPPED);
	nothing_left();
}
END_TEST

START_TEST(fails_to_open)
{
	fake_probes.path_error = "there is no such file";
	start_and_hang();
	thread_done();
	ck_assert_int_eq(told.result, -EINVAL);
	ck_assert_str_eq(told.message, "there is no such file");
	ck_assert_int_eq(told.state, SESSION_FAILED);
	ck_assert(fake.ends == 1 && !fake.reason);
	nothing_left();
}
END_TEST

START_TEST(fails_to_set_filters)
{
	fake_probes.prepare_error = "too many users";
	fake.later = true;
	make(false);
	ck_assert_int_eq(open_it(), 0);
	ck_assert_int_eq(told.result, -EINVAL);
	ck_assert_str_eq(told.message, "too many users");
	ck_assert_int_eq(session->state, SESSION_ABORTING);
	ck_assert(!hookset_wanted(context.hookset) && !drains);
	fake.handler(fake.userdata);
	session_collect(session);
	ck_assert_int_eq(told.state, SESSION_FAILED);
	nothing_left();
}
END_TEST

START_TEST(stopped_while_it_starts)
{
	start_and_hang();
	session_end(session, SESSION_STOPPED);
	ck_assert_int_eq(session->state, SESSION_ABORTING);
	ck_assert_int_eq(told.result, -ECANCELED);
	session_collect(session);
	ck_assert_int_eq(told.ended, 0);
	thread_done();
	ck_assert_int_eq(told.state, SESSION_FAILED);
	nothing_left();
}
END_TEST

START_TEST(shutdown_while_it_starts)
{
	start_and_hang();
	session_end(session, SESSION_SHUTDOWN);
	ck_assert_int_eq(told.result, -ESHUTDOWN);
	fake_disk_let_go();
	session_await_opening(session, clocks_mono_ns() + 60 * SECOND_NS);
	errands_see_to(&context.errands);
	ck_assert_int_eq(told.state, SESSION_FAILED);
	ck_assert(!context.abandoned);
	nothing_left();
}
END_TEST

START_TEST(its_disk_never_answers)
{
	start_and_hang();
	session_end(session, SESSION_SHUTDOWN);
	session_await_opening(session, clocks_mono_ns());
	ck_assert_int_eq(told.state, SESSION_FAILED);
	ck_assert_int_eq(fake.ends, 0);
	ck_assert(context.abandoned && !context.hung);
	nothing_left();
}
END_TEST

START_TEST(shutdown_while_it_runs)
{
	run_one();
	fake.later = true;
	session_end(session, SESSION_SHUTDOWN);
	session_await_end(session, clocks_mono_ns() + SECOND_NS);
	ck_assert_int_eq(told.state, SESSION_ENDED);
	ck_assert(!context.abandoned);
	nothing_left();
}
END_TEST

START_TEST(shutdown_while_it_ends)
{
	run_one();
	fake.later = true;
	session_end(session, SESSION_STOPPED);
	session_end(session, SESSION_SHUTDOWN);
	ck_assert_str_eq(session->reason, "stopped");
	fake.handler(fake.userdata); /* it has ended in between */
	session_await_end(session, clocks_mono_ns() + SECOND_NS);
	nothing_left();
}
END_TEST

START_TEST(its_rows_are_left_behind)
{
	run_one();
	fake.hangs = true;
	session_end(session, SESSION_SHUTDOWN);
	session_await_end(session, clocks_mono_ns());
	ck_assert_int_eq(told.state, SESSION_ENDED);
	ck_assert(context.abandoned && context.hung);
	nothing_left();
}
END_TEST

/* ---- who uses a session ---- */

static int watched;

static void on_watched(struct session_watcher *watcher)
{
	(void)watcher;
	ck_assert_int_eq(told.ended, 0);
	watched++;
}

START_TEST(watchers)
{
	struct session_watcher first = { .ended = on_watched }, second = { .ended = on_watched };

	run_one();
	session_watch(session, &first);
	session_watch(session, &second);
	session_unwatch(session, &first);
	watched = 0;
	session_end(session, SESSION_STOPPED);
	ck_assert_int_eq(watched, 1);
}
END_TEST

/* ---- sessions by name ---- */

static int results[8];
static size_t result_count;

static void note(int result)
{
	ck_assert_uint_lt(result_count, 8);
	results[result_count++] = result;
}

static void on_start(int result, struct json_object *status, const struct engine_error *error, void *userdata)
{
	(void)error, (void)userdata;
	json_object_put(status);
	note(result);
}

static void on_stop(int result, struct json_object *status, void *userdata)
{
	(void)userdata;
	json_object_put(status);
	note(result);
}

static void start_named(const char *name, bool paths)
{
	struct engine_error error = { 0 };
	struct iotr_session_spec spec;

	spec_fill(&spec, paths);
	strcpy(spec.name, name);
	ck_assert_int_eq(registry_start(registry, &spec, &owner, NULL, on_start, NULL, &error), 0);
	ck_assert_int_eq(registry_start(registry, &spec, &owner, NULL, on_start, NULL, &error), -EEXIST);
	iotr_session_spec_done(&spec);
}

START_TEST(by_name)
{
	result_count = 0;
	start_named("a", false);
	ck_assert_uint_eq(result_count, 1);
	ck_assert_ptr_nonnull(registry_find_running(registry, "a"));
	ck_assert_int_eq(registry_stop(registry, "b", on_stop, NULL), -ENOENT);
	ck_assert_int_eq(registry_stop(registry, "a", on_stop, NULL), 0);
	ck_assert_uint_eq(result_count, 2);
	ck_assert_ptr_null(registry_find(registry, "a"));
}
END_TEST

/* The daemon ends with one session that runs and one that waits for a disk. */
START_TEST(all_end)
{
	result_count = 0;
	start_named("runs", false);
	fake_disk_hold();
	start_named("hangs", true);
	ck_assert_ptr_null(registry_find_running(registry, "hangs"));
	registry_end(registry);
	ck_assert_uint_eq(result_count, 2);
	ck_assert_int_eq(results[0], 0);
	ck_assert_int_eq(results[1], -ESHUTDOWN);
	ck_assert_ptr_null(registry_at(registry, 0));
	ck_assert(context.abandoned);
}
END_TEST

/* A wait for sessions that start sees to what threads have done, and sleeps meanwhile. */
START_TEST(starts_are_awaited)
{
	struct timespec used;

	result_count = 0;
	start_named("a", false);
	eventfd_write(context.notice, 1); /* something else is done, too */
	fake_disk_hold();
	start_named("hangs", true);
	registry_await_starts(registry, clocks_mono_ns() + SECOND_NS / 2);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	ck_assert_int_lt(used.tv_nsec + used.tv_sec * (long)SECOND_NS, (long)SECOND_NS / 4);
	ck_assert_uint_eq(result_count, 1);
	fake_disk_let_go();
	registry_await_starts(registry, clocks_mono_ns() + 60 * SECOND_NS);
	ck_assert_uint_eq(result_count, 2);
	ck_assert_ptr_nonnull(registry_find_running(registry, "hangs"));
}
END_TEST

static void on_set(int result, struct json_object *status, const struct engine_error *error, void *userdata)
{
	(void)error, (void)userdata;
	json_object_put(status);
	note(result);
}

/* `set` looks for a path; `stop`: the session ends meanwhile. */
static void set_path(bool stop)
{
	struct engine_change change = { .given = 1U << IOTR_SPEC_PATHS };
	struct engine_setting *setting;
	struct engine_error error = { 0 };
	struct session *one;
	int bit;

	result_count = 0;
	start_named("a", false);
	one = registry_find_running(registry, "a");
	bit = one->slots.slot.bit;
	fake_disk_hold();
	spec_fill(&change.spec, true);
	ck_assert_int_eq(set_new(registry, "a", &change, on_set, NULL, &setting, &error), 0);
	ck_assert_ptr_nonnull(setting);
	iotr_session_spec_done(&change.spec);
	if (stop)
		session_end(one, "max-size");
	thread_done();
	ck_assert_uint_eq(result_count, 2);
	ck_assert_int_eq(results[1], stop ? -ENOENT : 0);
	ck_assert(!fake_probes.open[bit]);
}

START_TEST(limit_during_set)
{
	set_path(true);
}
END_TEST

/* The session has moved to another slot; the one it left is given up when nothing is in flight in it. */
START_TEST(set_takes_another_slot)
{
	struct session *one;
	int bit;

	set_path(false);
	one = registry_find_running(registry, "a");
	bit = one->slots.slot.bit;
	ck_assert(fake_probes.open[bit]);
	ck_assert_uint_eq(context.slots.left, 1);
	fake_probes.in_flight = ~(1ULL << bit);
	slots_tidy(&context.slots);
	ck_assert(slots_find(&context.slots) > 1);
	fake_probes.in_flight = 0;
	slots_tidy(&context.slots);
	ck_assert_int_eq(slots_find(&context.slots), 0);
}
END_TEST

/* Without a free slot, the one that was left first is given up, and what is in flight in it is lost. */
START_TEST(slots_run_out)
{
	unsigned int bits[IOTR_SESSIONS_MAX];
	struct probes_loss loss;
	struct session *one;

	set_path(false);
	one = registry_find_running(registry, "a");
	fake_probes.in_flight = ~0ULL;
	ck_assert_int_eq(slots_reserve(&context.slots, IOTR_SESSIONS_MAX - 1, bits), -ENOSPC);
	ck_assert_int_eq(slots_reserve(&context.slots, IOTR_SESSIONS_MAX - 2, bits), 0);
	ck_assert_int_eq(slots_find(&context.slots), 0);
	slot_loss(&context.slots, &one->slots, IOTR_VFS, NULL, &loss);
	ck_assert_uint_eq(loss.emitted, 1);
	ck_assert_uint_eq(loss.unmatched, 1);
	slots_unreserve(&context.slots);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_test(tests, runs);
	tcase_add_test(tests, ends_at_once);
	tcase_add_test(tests, reaches_a_limit);
	tcase_add_test(tests, lasts_for_its_duration);
	tcase_add_test(tests, starts_on_a_slow_disk);
	tcase_add_test(tests, fails_to_open);
	tcase_add_test(tests, fails_to_set_filters);
	tcase_add_test(tests, stopped_while_it_starts);
	tcase_add_test(tests, shutdown_while_it_starts);
	tcase_add_test(tests, its_disk_never_answers);
	tcase_add_test(tests, shutdown_while_it_runs);
	tcase_add_test(tests, shutdown_while_it_ends);
	tcase_add_test(tests, its_rows_are_left_behind);
	tcase_add_test(tests, watchers);
	tcase_add_test(tests, by_name);
	tcase_add_test(tests, all_end);
	tcase_add_test(tests, starts_are_awaited);
	tcase_add_test(tests, limit_during_set);
	tcase_add_test(tests, set_takes_another_slot);
	tcase_add_test(tests, slots_run_out);
}

int main(void)
{
	return run_suite("session", add);
}
