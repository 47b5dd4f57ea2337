// SPDX-License-Identifier: GPL-2.0-or-later
/* Each way of a session through its states, with a fake probe set and a fake sink. */
#include "session/describe.h"
#include "session/session.h"

#include "session_rig.h"

static struct session *session;

/* ---- a fake sink ---- */

static struct {
	struct row_sink base;
	int slot; /* slot from which it gets rows; -1: none yet */
	bool later; /* its end lasts until fake_sink_written() */
	bool hangs; /* its end never comes */
	const char *limit;
	int ends, frees, looks, definitions;
	int lacking; /* how often it was told what rows lack */
	const char *reason; /* reason of its end; NULL: it was discarded */
	bool open_at_end;   /* it was ended before its session's slot was closed */
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

static void fake_tell(struct row_sink *sink, const char *key, struct json_object *array)
{
	(void)sink, (void)array;
	fake.lacking += !strcmp(key, "lacking");
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
	.limit = fake_limit, .redefine = fake_redefine, .tell = fake_tell, .end = fake_end, .await = fake_await,
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

static bool by_device, by_user; /* sessions that are made have such a filter */
static uint32_t streams; /* that they have; 0: as spec_fill() says */

/* A session with the fake sink; `paths`: its start has to look for paths. */
static void make(bool paths)
{
	struct iotr_session_spec spec;

	spec_fill(&spec, paths);
	if (by_device) {
		spec.devices = calloc(1, sizeof(*spec.devices));
		spec.device_count = 1;
	}
	if (by_user) {
		spec.uids = calloc(1, sizeof(*spec.uids));
		spec.uid_count = 1;
	}
	spec.streams = streams ?: spec.streams;
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

static void begin(void)
{
	context_begin();
	memset(&fake, 0, sizeof(fake));
	memset(&told, 0, sizeof(told));
	by_device = by_user = false;
	streams = 0;
	fake.base.ops = &fake_ops;
	fake.slot = -1;
}

static void end(void)
{
	ck_assert_ptr_null(session);
	context_end();
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

/* ---- the ways through its states ---- */

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
	session_collect(session); /* the limit is reported again */
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

/* What is told of what its rows lack: whether it is, and whether that is over. */
static bool lacks(bool *over)
{
	struct json_object *status = describe_session(session), *lacking = NULL, *lack = NULL;
	bool found = json_object_object_get_ex(status, "lacking", &lacking);

	if (found)
		lack = json_object_array_get_idx(lacking, 0);
	*over = lack && json_object_object_get_ex(lack, "to", NULL);
	json_object_put(status);
	return found;
}

/* A session whose programs are still being loaded. */
static void start_while_loading(void)
{
	fake_probes.loading = true;
	make(false);
	ck_assert_int_eq(open_it(), 0);
	ck_assert_int_eq(session->state, SESSION_STARTING);
	ck_assert(!told.started && !hookset_wanted(context.hookset));
}

START_TEST(waits_for_its_programs)
{
	start_while_loading();
	fake_probes_loaded();
	ck_assert_int_eq(session->state, SESSION_RUNNING);
	ck_assert_int_eq(told.started, 1);
	ck_assert_int_eq(told.result, 0);
	ck_assert(fake_probes.open[session->slots.slot.bit] && fake_probes.attached[PROBES_CALLS]);
	session_end(session, SESSION_STOPPED);
	nothing_left();
}
END_TEST

/* Rows come at once, and lack inodes until they are seen; status and sink are told so. */
START_TEST(begins_without_inodes)
{
	bool over;

	fake_probes.lacks = 1U << PROBES_LACK_INODES;
	run_one();
	ck_assert(fake_probes.open[session->slots.slot.bit]);
	ck_assert(lacks(&over) && !over);
	ck_assert_int_eq(fake.lacking, 1);
	fake_probes_loaded();
	ck_assert(lacks(&over) && over);
	ck_assert_int_eq(fake.lacking, 2);
	session_end(session, SESSION_STOPPED);
	nothing_left();
}
END_TEST

/* What is lacking is told of each stream by itself, and only of those that the session has. */
START_TEST(begins_without_dirtiers)
{
	bool over;

	fake_probes.lacks = 1U << PROBES_LACK_INODES | 1U << PROBES_LACK_DIRTIERS | 1U << PROBES_LACK_SOURCES;
	streams = 1U << IOTR_BLOCK | 1U << IOTR_NET;
	run_one();
	ck_assert(lacks(&over) && !over);
	ck_assert_uint_eq(json_object_array_length(session->lacking), 2);
	fake_probes.lacks = 1U << PROBES_LACK_SOURCES;
	fake_probes_tell();
	ck_assert(lacks(&over) && over);
	ck_assert(!json_object_object_get_ex(json_object_array_get_idx(session->lacking, 1), "to", NULL));
	fake_probes_loaded();
	ck_assert(json_object_object_get_ex(json_object_array_get_idx(session->lacking, 1), "to", NULL));
	ck_assert_int_eq(fake.lacking, 3);
	session_end(session, SESSION_STOPPED);
	nothing_left();
}
END_TEST

/* A filter of users looks at who made the pages dirty. */
START_TEST(waits_for_dirtiers)
{
	fake_probes.lacks = 1U << PROBES_LACK_DIRTIERS;
	by_user = true;
	streams = 1U << IOTR_BLOCK;
	start_while_loading();
	fake_probes.loading = false;
	fake_probes_tell();
	ck_assert_int_eq(session->state, SESSION_STARTING);
	ck_assert(fake_probes.attached[PROBES_BLOCK]);
	fake_probes_loaded();
	ck_assert_int_eq(session->state, SESSION_RUNNING);
	session_end(session, SESSION_STOPPED);
	nothing_left();
}
END_TEST

START_TEST(lacks_nothing)
{
	bool over;

	fake_probes.lacks = 1U << PROBES_LACK_DIRTIERS | 1U << PROBES_LACK_SOURCES; /* of streams that it does not have */
	run_one();
	ck_assert(!lacks(&over) && !fake.lacking);
	session_end(session, SESSION_STOPPED);
	nothing_left();
}
END_TEST

START_TEST(stopped_while_it_lacks_inodes)
{
	fake_probes.lacks = 1U << PROBES_LACK_INODES;
	run_one();
	session_end(session, SESSION_STOPPED);
	nothing_left();
	fake_probes_loaded(); /* tells nobody */
}
END_TEST

/* Where its filters would leave out what lacks a device: its hooks are attached, and no row comes yet. */
START_TEST(waits_for_inodes)
{
	fake_probes.lacks = 1U << PROBES_LACK_INODES;
	by_device = true;
	start_while_loading();
	fake_probes.loading = false;
	fake_probes_tell();
	ck_assert_int_eq(session->state, SESSION_STARTING);
	ck_assert(fake_probes.attached[PROBES_CALLS] && !fake_probes.open[session->slots.slot.bit]);
	fake_probes_loaded();
	ck_assert_int_eq(session->state, SESSION_RUNNING);
	session_end(session, SESSION_STOPPED);
	nothing_left();
}
END_TEST

START_TEST(stopped_while_it_waits_for_inodes)
{
	fake_probes.lacks = 1U << PROBES_LACK_INODES;
	by_device = true;
	start_while_loading();
	fake_probes.loading = false;
	fake_probes_tell();
	session_end(session, SESSION_STOPPED);
	ck_assert_int_eq(told.result, -ECANCELED);
	nothing_left();
}
END_TEST

START_TEST(its_programs_are_refused)
{
	start_while_loading();
	memset(fake_probes.hookless, 0xff, sizeof(fake_probes.hookless));
	fake_probes_loaded();
	ck_assert_int_eq(told.result, -EOPNOTSUPP);
	ck_assert_int_eq(told.state, SESSION_FAILED);
	nothing_left();
}
END_TEST

START_TEST(stopped_while_its_programs_are_loaded)
{
	start_while_loading();
	session_end(session, SESSION_STOPPED);
	ck_assert_int_eq(told.result, -ECANCELED);
	ck_assert_int_eq(told.state, SESSION_FAILED);
	nothing_left();
	fake_probes_loaded(); /* nobody waits any more */
}
END_TEST

START_TEST(shutdown_while_its_programs_are_loaded)
{
	start_while_loading();
	session_end(session, SESSION_SHUTDOWN);
	ck_assert_int_eq(told.result, -ESHUTDOWN);
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
	tcase_add_test(tests, waits_for_its_programs);
	tcase_add_test(tests, begins_without_inodes);
	tcase_add_test(tests, begins_without_dirtiers);
	tcase_add_test(tests, waits_for_dirtiers);
	tcase_add_test(tests, lacks_nothing);
	tcase_add_test(tests, stopped_while_it_lacks_inodes);
	tcase_add_test(tests, waits_for_inodes);
	tcase_add_test(tests, stopped_while_it_waits_for_inodes);
	tcase_add_test(tests, its_programs_are_refused);
	tcase_add_test(tests, stopped_while_its_programs_are_loaded);
	tcase_add_test(tests, shutdown_while_its_programs_are_loaded);
	tcase_add_test(tests, stopped_while_it_starts);
	tcase_add_test(tests, shutdown_while_it_starts);
	tcase_add_test(tests, its_disk_never_answers);
	tcase_add_test(tests, shutdown_while_it_runs);
	tcase_add_test(tests, shutdown_while_it_ends);
	tcase_add_test(tests, its_rows_are_left_behind);
	tcase_add_test(tests, watchers);
}

int main(void)
{
	return run_suite("session", add);
}
