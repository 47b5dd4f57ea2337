// SPDX-License-Identifier: GPL-2.0-or-later
/* Sessions by name: their starts and ends together, filters that change, and the slots that this takes. */
#include "session/registry.h"

#include "session/set.h"
#include "session_rig.h"

static struct registry *registry;

static void on_runs(void *userdata)
{
	(void)userdata;
}

static char last_ended[IOTR_SESSION_NAME_MAX + 1];
static size_t ended_count;

static void on_ended(const struct session *session, void *userdata)
{
	(void)userdata;
	strcpy(last_ended, session->spec.name);
	ended_count++;
}

static void begin(void)
{
	const struct registry_config config = { .context = &context, .runs = on_runs, .ended = on_ended };

	ended_count = 0;
	context_begin();
	ck_assert_int_eq(registry_new(&config, &registry), 0);
}

static void end(void)
{
	registry_end(registry);
	registry_free(registry);
	context_end();
}

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
	ck_assert_uint_eq(ended_count, 1);
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
	ck_assert_uint_eq(ended_count, 1); /* the other one has not run */
	ck_assert_str_eq(last_ended, "runs");
}
END_TEST

/* A wait for sessions that start handles errands that end meanwhile, and sleeps in between. */
START_TEST(starts_are_awaited)
{
	struct timespec used;

	result_count = 0;
	start_named("a", false);
	eventfd_write(context.notice, 1); /* another errand ends, too */
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
	tcase_add_test(tests, by_name);
	tcase_add_test(tests, all_end);
	tcase_add_test(tests, starts_are_awaited);
	tcase_add_test(tests, limit_during_set);
	tcase_add_test(tests, set_takes_another_slot);
	tcase_add_test(tests, slots_run_out);
}

int main(void)
{
	return run_suite("registry", add);
}
