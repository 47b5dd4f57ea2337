// SPDX-License-Identifier: GPL-2.0-or-later
/* Filters of sessions: whether they can be, and their change while a session runs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "definition.h"
#include "engine_internal.h"
#include "engine_resume.h"
#include "log.h"
#include "probes/control_page.h"
#include "schema.h"

/* Streams whose rows have a file, or may have one. */
#define STREAMS_OF_FILES                                                                        \
	(1U << IOTR_VFS | 1U << IOTR_BLOCK | 1U << IOTR_CACHE | 1U << IOTR_PAGEFAULT | 1U << IOTR_IOURING)

int filters_fail(struct engine_error *error, int r, const struct filter_error *why)
{
	return engine_fail(error, r, why->parameter, why->message);
}

static int check_streams_of_paths(const struct iotr_session_spec *spec, struct engine_error *error)
{
	uint32_t without = spec->streams & ~STREAMS_OF_FILES;
	size_t length = 0;
	char names[128];

	if (!spec->path_count || !without)
		return 0;
	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		if (without >> stream & 1)
			length += (size_t)snprintf(names + length, sizeof(names) - length, "%s%s",
						   length ? ", " : "", iotr_schemas[stream].flag);
	snprintf(error->message, sizeof(error->message),
		 "rows of %s have no file, so a path would let none through: "
		 "record them in a session of their own", names);
	return engine_fail(error, -EINVAL, "paths", NULL);
}

static int check_sample(const struct iotr_session_spec *spec, struct engine_error *error)
{
	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		if (spec->sample[stream] && !(spec->streams >> stream & 1)) {
			snprintf(error->message, sizeof(error->message), "the session has no stream '%s'",
				 iotr_schemas[stream].flag);
			return engine_fail(error, -EINVAL, "sample", NULL);
		}
	return 0;
}

int filters_check(const struct iotr_session_spec *spec, struct engine_error *error)
{
	struct filter_error why;
	int r = check_streams_of_paths(spec, error);

	if (r >= 0)
		r = check_sample(spec, error);
	if (r < 0)
		return r;
	r = control_page_check(spec, &why);
	return r < 0 ? filters_fail(error, r, &why) : 0;
}

/* ---- change ---- */

static int spec_change(const struct iotr_session_spec *old, const struct engine_change *change,
		       struct iotr_session_spec *new, struct engine_error *error)
{
	int r = iotr_session_spec_copy(new, old);

	for (int filter = 0; filter < IOTR_SPEC_FILTER_COUNT && r >= 0; filter++) {
		if (change->given >> filter & 1)
			r = iotr_spec_filter_take(new, &change->spec, filter);
		else if (change->cleared >> filter & 1)
			r = iotr_spec_filter_take(new, NULL, filter);
	}
	if (r < 0)
		return engine_fail(error, r, "", "out of memory");
	if (new->tree && !new->pid_count)
		return engine_fail(error, -EINVAL, "tree", "it needs pids, whose descendants are meant");
	return filters_check(new, error);
}

/* Descendants of the same processes are followed on. */
static bool same_processes(const struct iotr_session_spec *a, const struct iotr_session_spec *b)
{
	return a->tree && b->tree && a->pid_count == b->pid_count &&
	       !memcmp(a->pids, b->pids, a->pid_count * sizeof(*a->pids));
}

/* Gives the session its second place, with the new filters; nothing begins in it yet. */
static int place_prepare(struct session *session, const struct iotr_session_spec *spec,
			 struct session_place *place, struct engine_error *error)
{
	struct engine *engine = session->engine;
	struct filter_error why;
	int bit = place_find(engine), r;

	if (bit < 0)
		return engine_fail(error, bit, "", "all 64 places of sessions are taken, and a change needs one more");
	r = place_take(session, bit, place);
	if (r < 0)
		return engine_fail(error, r, "", "cannot route rows to the session");
	r = control_page_prepare(engine->probes, bit, spec, &why);
	if (r >= 0 && same_processes(&session->spec, spec)) {
		r = control_page_inherit(engine->probes, bit, session->place.bit);
		if (r < 0) {
			control_page_clear(engine->probes, bit);
			filter_fail(&why, r, "", "cannot follow the processes: %s", strerror(-r));
		}
	}
	if (r >= 0)
		return 0;
	router_detach(consumer_router(engine->consumer), bit);
	return filters_fail(error, r, &why);
}

static void session_move(struct session *session, const struct session_place *place)
{
	struct engine *engine = session->engine;

	control_page_open(engine->probes, place->bit, session->place.bit);
	session->left = session->place;
	session->place = *place;
	engine->leaving[session->left.bit] = session;
	engine->sessions[session->left.bit] = NULL;
	engine->sessions[session->place.bit] = session;
}

static void session_tell(struct session *session)
{
	_cleanup_json_ struct json_object *definition = definition_describe(&session->spec);
	int r = session->writer ? writer_redefine(session->writer, definition) : 0;

	if (r < 0)
		log_error("manifest of session %s: %s", session->spec.name, strerror(-r));
}

int engine_set(struct engine *engine, const char *name, const struct engine_change *change,
	       struct json_object **ret, struct engine_error *error)
{
	_cleanup_(iotr_session_spec_done) struct iotr_session_spec spec = { 0 }, before = { 0 };
	struct session *session = engine_find(engine, name);
	struct session_place place;
	int r;

	if (!session || !session_runs(session))
		return engine_fail(error, -ENOENT, "name", "no such session");
	r = spec_change(&session->spec, change, &spec, error);
	if (r < 0)
		return r;
	place_leave(session);
	if (spec.tree || spec.unit_count) /* before the processes and cgroups that are there are noted */
		probes_attach(engine->probes, PROBES_PROCESS);
	r = place_prepare(session, &spec, &place, error);
	if (r < 0)
		return r;
	before = session->spec;
	session->spec = spec;
	spec = (struct iotr_session_spec){ 0 };
	session_move(session, &place);
	session_tell(session);
	session_note_again(session);
	*ret = session_status(session);
	return 0;
}
