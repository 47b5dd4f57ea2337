/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One session with a fake probe set and a fake sink, and what is told of it. */
#pragma once

#include "session/session.h"

#include "fake_sink.h"
#include "session_rig.h"

static struct session *session;

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
	session->sink = session->slots.sink = &fake_sink.base;
	iotr_session_spec_done(&spec);
}

static int open_it(void)
{
	struct engine_error error = { 0 };

	return session_open(session, NULL, &error);
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
	fake_sink_reset();
	memset(&told, 0, sizeof(told));
	by_device = by_user = false;
	streams = 0;
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
	ck_assert_int_eq(fake_sink.frees, 1);
	ck_assert(!hookset_wanted(context.hookset));
	for (size_t bit = 0; bit < IOTR_SESSIONS_MAX; bit++) {
		ck_assert(!fake_probes.prepared[bit] && !fake_probes.open[bit]);
		ck_assert_ptr_null(context.slots.states[bit].owner);
	}
}
