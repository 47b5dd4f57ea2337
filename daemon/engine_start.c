// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The start of a session. Its name and slot are taken at once; a thread opens what it needs of the disk
 * (engine_open.c); then session_go_on() makes it run, or fail.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "engine_open.h"
#include "log.h"
#include "pipeline/clocks.h"
#include "probes/control_page.h"
#include "schema.h"

DEFINE_CLEANUP(struct session *, session_free);

static int session_due(sd_event_source *source, uint64_t now, void *userdata)
{
	(void)source;
	(void)now;
	session_end(userdata, "duration");
	return 0;
}

/*
 * Time that the session runs from now on: until the end in its note, however long it took to open its files.
 */
static uint64_t lasts_ns(const struct session *session)
{
	uint64_t now = clocks_realtime_ns();

	if (!session->ends_ns)
		return session->spec.duration_ns;
	return session->ends_ns > now ? session->ends_ns - now : 0;
}

/* Attaches the hooks and lets the programs emit rows. */
static int session_flow(struct session *session, struct engine_error *error)
{
	struct engine *engine = session->engine;
	struct filter_error why;
	int r;

	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		session->missed_before[stream] = probes_missed(engine->probes, probes_stream_groups(stream));
	r = place_take(session, session->place.bit, &session->place);
	if (r < 0)
		return engine_fail(error, r, "", "cannot route rows to the session");
	session->begun = true;
	engine_report_soon(engine);
	consumer_run(engine->consumer, true);
	groups_attach(engine);
	session_note_failures(session);
	control_page_modules(engine->probes);
	r = control_page_prepare(engine->probes, session->place.bit, &session->spec, session->paths, &why);
	if (r < 0)
		return filters_fail(error, r, &why);
	r = session->spec.tree ? descendants_follow(engine, session->place.bit, &session->spec) : 0;
	if (r < 0)
		return engine_fail(error, r, "tree", "cannot look for descendants that live already");
	control_page_open(engine->probes, session->place.bit, -1);
	if (session->spec.duration_ns)
		r = sd_event_add_time_relative(engine->event, &session->duration, CLOCK_MONOTONIC,
					       lasts_ns(session) / 1000, 1000, session_due, session);
	rates_begin(session);
	bpf_cost_run(engine->bpf_cost);
	return r < 0 ? engine_fail(error, r, "", "cannot set the session's clock") : 0;
}

static bool stream_possible(const struct engine *engine, enum iotr_stream stream)
{
	const char *reason;

	for (size_t i = 0; i < iotr_schemas[stream].operation_count; i++)
		if (probes_hook(engine->probes, stream, i, &reason))
			return true;
	return false;
}

static int check_start(struct engine *engine, const struct iotr_session_spec *spec,
		       struct engine_error *error)
{
	int r = filters_check(spec, error);

	if (r < 0)
		return r;
	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		if (spec->streams >> stream & 1 && stream_possible(engine, stream))
			return 0;
	return engine_fail(error, -EOPNOTSUPP, "streams", "the kernel refuses the hooks of these streams");
}

void session_answer(struct session *session, int result, const struct engine_error *error)
{
	engine_start_handler handler = session->start_handler;

	session->start_handler = NULL;
	if (handler)
		handler(result, result < 0 ? NULL : session_status(session), error,
			session->start_userdata);
}

static void session_fail(struct session *session, int result, const struct engine_error *error)
{
	session_answer(session, result, error);
	session->reason = session->reason ?: SESSION_FAILED;
	session_close(session);
	if (session->written)
		session_finish(session);
}

/* Starts to record after everything has been opened, or if there is nothing to open. */
static int session_begin(struct session *session, int folder_fd, struct engine_error *error)
{
	int r = session_anonymize(session, error);

	if (r < 0)
		return r;
	r = folder_fd < 0 ? 0 : session_snapshots_begin(session, folder_fd);
	if (r < 0)
		return engine_fail(error, r, "", "cannot take snapshots");
	return session_flow(session, error);
}

static void session_go_on(struct session *session, int folder_fd, int result,
			  struct engine_error *error)
{
	if (result >= 0 && session->reason)
		result = -ECANCELED;
	if (result >= 0)
		result = session_begin(session, folder_fd, error);
	if (result < 0) {
		session_fail(session, result, error);
		return;
	}
	ended_forget(session->engine, session->spec.name, NULL);
	session_answer(session, 0, error);
}

void session_opened(struct session *session)
{
	_cleanup_close_ int folder = -1;
	struct engine_error error;
	int r = opening_take(TAKE(session->opening), session, &folder, &error);

	session_go_on(session, folder, r, &error);
}

static int session_new(struct engine *engine, const struct iotr_session_spec *spec, int bit,
		       struct session **ret)
{
	struct session *session = calloc(1, sizeof(*session));

	if (!session)
		return -ENOMEM;
	session->engine = engine;
	session->place.bit = bit;
	clock_gettime(CLOCK_REALTIME, &session->started);
	session->missing = missing_describe(engine, spec);
	memcpy(session->output, spec->output, sizeof(session->output));
	*ret = session;
	return iotr_session_spec_copy(&session->spec, spec);
}

/* Allocates memory at once, and starts a thread for all that is on a disk. */
static int session_open(struct session *session, const struct running_note *before,
			struct engine_error *error)
{
	const struct iotr_session_spec *spec = &session->spec;
	int r = 0;

	if (spec->flight_recorder)
		r = session_open_recorder(session, error);
	if (r < 0 || (session->recorder && !spec->anonymize && !spec->path_count))
		return r;
	r = opening_new(session, before, &session->opening);
	return r < 0 ? engine_fail(error, r, "", "cannot begin to open its files") : 0;
}

int engine_start(struct engine *engine, const struct iotr_session_spec *spec, const struct rights *owner,
		 engine_start_handler handler, void *userdata, struct engine_error *error)
{
	return session_start(engine, spec, owner, NULL, handler, userdata, error);
}

int session_start(struct engine *engine, const struct iotr_session_spec *spec, const struct rights *owner,
		  const struct running_note *before, engine_start_handler handler, void *userdata,
		  struct engine_error *error)
{
	_cleanup_(session_freep) struct session *session = NULL;
	int bit, r;

	if (engine_find(engine, spec->name))
		return engine_fail(error, -EEXIST, "name", "a session of that name is running");
	r = check_start(engine, spec, error);
	if (r >= 0)
		r = descriptors_check(spec->flight_recorder ? 0 : spec->streams, error);
	if (r < 0)
		return r;
	bit = place_find(engine);
	if (bit < 0)
		return engine_fail(error, bit, "", "64 sessions are running, which is the limit");
	r = session_new(engine, spec, bit, &session);
	if (r < 0)
		return engine_fail(error, r, "", "out of memory");
	session->owner = *owner;
	session->ends_ns = before ? before->ends_ns : 0;
	schedule_resolve(&session->spec.snapshots, engine->config.snapshots);
	r = session_open(session, before, error);
	if (r < 0)
		return r;
	session->start_handler = handler;
	session->start_userdata = userdata;
	engine->sessions[bit] = session;
	if (session->opening)
		TAKE(session);
	else
		session_go_on(TAKE(session), -1, 0, error);
	return 0;
}

void session_await_opening(struct session *session, uint64_t until_ns)
{
	if (opening_wait(session->opening, until_ns) || !opening_abandon(session->opening)) {
		session_opened(session);
		return;
	}
	log_warning("session %s: its disk does not answer", session->spec.name);
	session->engine->abandoned = true;
	session->opening = NULL;
	session->written = true;
}
