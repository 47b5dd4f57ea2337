// SPDX-License-Identifier: GPL-2.0-or-later
/* Sessions whose programs are still being loaded or attached: what waits for them, and what rows lack meanwhile. */
#include "session/describe.h"

#include "one_session_rig.h"

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
	ck_assert_int_eq(fake_sink.lacking, 1);
	fake_probes_loaded();
	ck_assert(lacks(&over) && over);
	ck_assert_int_eq(fake_sink.lacking, 2);
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
	ck_assert_int_eq(fake_sink.lacking, 3);
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
	ck_assert(!lacks(&over) && !fake_sink.lacking);
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

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, begin, end);
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
}

int main(void)
{
	return run_suite("session_programs", add);
}
