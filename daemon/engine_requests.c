// SPDX-License-Identifier: GPL-2.0-or-later
/* Requests that come through engine.h, each handed to the part that it is for. */
#include <errno.h>
#include <stdlib.h>

#include "engine_private.h"
#include "probes/loading.h"
#include "selftest/doctor.h"
#include "session/amplification.h"
#include "session/ask_snapshot.h"
#include "session/dump.h"
#include "session/look.h"
#include "session/rotate.h"
#include "session/set.h"
#include "session/tail.h"
#include "spec/definition.h"

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
