// SPDX-License-Identifier: GPL-2.0-or-later
/* Each way of a session through its states, whose programs are loaded. */
#include "one_session_rig.h"

/* A session that starts, and waits for a disk. */
static void start_and_hang(void)
{
	fake_disk_hold();
	make(true);
	ck_assert_int_eq(open_it(), 0);
	ck_assert_int_eq(session->state, SESSION_STARTING);
}

/* ---- the ways through its states ---- */

START_TEST(runs)
{
	run_one();
	ck_assert_int_eq(told.started, 1);
	ck_assert_int_eq(told.result, 0);
	ck_assert_int_eq(fake_sink.slot, session->slots.slot.bit);
	ck_assert(fake_probes.open[fake_sink.slot] && fake_probes.attached[PROBES_CALLS] && drains);
	fake_sink.later = true;
	session_end(session, SESSION_STOPPED);
	ck_assert_int_eq(session->state, SESSION_ENDING);
	ck_assert_str_eq(fake_sink.reason, "stopped");
	ck_assert(!fake_sink.open_at_end && !drains);
	session_end(session, "duration"); /* does nothing */
	ck_assert_str_eq(session->reason, "stopped");
	ck_assert_int_eq(fake_sink.ends, 1);
	fake_sink.handler(fake_sink.userdata);
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
	fake_sink.limit = "max-size";
	fake_sink.later = true;
	session_collect(session);
	ck_assert_int_eq(session->state, SESSION_ENDING);
	ck_assert_str_eq(session->reason, "max-size");
	session_collect(session); /* the limit is reported again */
	ck_assert_int_eq(fake_sink.ends, 1);
	fake_sink.handler(fake_sink.userdata);
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
	ck_assert_str_eq(fake_sink.reason, "duration");
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
	ck_assert(fake_sink.ends == 1 && !fake_sink.reason);
	nothing_left();
}
END_TEST

START_TEST(fails_to_set_filters)
{
	fake_probes.prepare_error = "too many users";
	fake_sink.later = true;
	make(false);
	ck_assert_int_eq(open_it(), 0);
	ck_assert_int_eq(told.result, -EINVAL);
	ck_assert_str_eq(told.message, "too many users");
	ck_assert_int_eq(session->state, SESSION_ABORTING);
	ck_assert(!hookset_wanted(context.hookset) && !drains);
	fake_sink.handler(fake_sink.userdata);
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
	ck_assert_int_eq(fake_sink.ends, 0);
	ck_assert(context.abandoned && !context.hung);
	nothing_left();
}
END_TEST

START_TEST(shutdown_while_it_runs)
{
	run_one();
	fake_sink.later = true;
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
	fake_sink.later = true;
	session_end(session, SESSION_STOPPED);
	session_end(session, SESSION_SHUTDOWN);
	ck_assert_str_eq(session->reason, "stopped");
	fake_sink.handler(fake_sink.userdata); /* it has ended in between */
	session_await_end(session, clocks_mono_ns() + SECOND_NS);
	nothing_left();
}
END_TEST

START_TEST(its_rows_are_left_behind)
{
	run_one();
	fake_sink.hangs = true;
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
