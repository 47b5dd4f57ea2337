// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/set.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "errand.h"
#include "log.h"
#include "probes/control_page.h"
#include "session/admission.h"
#include "session/descendants.h"
#include "session/describe.h"
#include "session/notes.h"
#include "spec/definition.h"
#include "spec/definition.h"

#define PATHS (1U << IOTR_SPEC_PATHS)

struct engine_setting {
	struct errand errand;
	struct registry *registry;
	char name[IOTR_SESSION_NAME_MAX + 1];
	struct engine_change change; /* its own copy */
	engine_set_handler handler;
	void *userdata;
	/* Written by the thread. */
	struct paths_found *paths; /* found for the paths of the change */
	int result;
	struct filter_error why;
};

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
	return admission_check_filters(new, error);
}

/* Whether both follow the descendants of the same processes: then those known already are inherited. */
static bool same_processes(const struct iotr_session_spec *a, const struct iotr_session_spec *b)
{
	return a->tree && b->tree && a->pid_count == b->pid_count &&
	       !memcmp(a->pids, b->pids, a->pid_count * sizeof(*a->pids));
}

/* Sets the filters of the slot that was prepared. */
static int slot_fill(struct session *session, const struct iotr_session_spec *spec, const struct paths_found *paths,
		     unsigned int bit, struct filter_error *why)
{
	struct session_context *context = session->context;
	int r = control_page_prepare(context->probes, bit, spec, paths, why);

	if (r < 0 || !spec->tree)
		return r;
	r = descendants_follow(context, bit, spec);
	if (r >= 0 && same_processes(&session->spec, spec))
		r = control_page_inherit(context->probes, bit, (unsigned int)session->slots.slot.bit);
	return r < 0 ? filter_fail(why, r, "", "cannot follow the processes: %s", strerror(-r)) : 0;
}

/* Prepares another slot for the session, with the new filters; no operation begins in it yet. */
static int prepare(struct session *session, const struct iotr_session_spec *spec, const struct paths_found *paths,
		   struct slot *slot, struct engine_error *error)
{
	struct slots *slots = &session->context->slots;
	struct filter_error why;
	int bit = slots_find(slots), r;

	if (bit < 0)
		return engine_fail(error, bit, "", "all 64 slots of sessions are taken, and a change needs one more");
	r = slot_prepare(slots, &session->slots, bit, slot);
	if (r < 0)
		return engine_fail(error, r, "", "cannot route rows to the session");
	r = slot_fill(session, spec, paths, (unsigned int)bit, &why);
	if (r >= 0)
		return 0;
	slot_abandon(slots, slot);
	return engine_fail(error, r, why.parameter, why.message);
}

static void tell_sink(struct session *session)
{
	_cleanup_json_ struct json_object *definition = definition_describe(&session->spec);
	const struct row_sink_ops *ops = session->sink->ops;
	int r = ops->redefine ? ops->redefine(session->sink, definition) : 0;

	if (r < 0)
		log_error("session %s: its manifest does not show the changed filters: %s", session->spec.name, strerror(-r));
}

/* The session's paths from now on: the new ones if the change has any, otherwise the present ones. */
static const struct paths_found *paths_of(const struct session *session, const struct engine_change *change,
					  const struct paths_found *given)
{
	if ((change->given | change->cleared) & PATHS)
		return given;
	return session->paths;
}

static void paths_replace(struct session *session, const struct engine_change *change, struct paths_found **given)
{
	if (!((change->given | change->cleared) & PATHS))
		return;
	paths_found_free(session->paths);
	session->paths = TAKE(*given);
}

/* Hooks that the new filters need are attached before existing processes and cgroups are looked up. */
static void wish_change(struct session *session, const struct hookset_wish *wish)
{
	struct hookset *hookset = session->context->hookset;

	hookset_want(hookset, wish);
	hookset_unwant(hookset, &session->wish);
	session->wish = *wish;
}

/* The session has these filters from now on, and owns `*paths`. Those that it had before are in `spec`. */
static void adopt(struct session *session, const struct engine_change *change, struct iotr_session_spec *spec,
		  struct paths_found **paths)
{
	const struct iotr_session_spec before = session->spec;

	session->spec = *spec;
	*spec = before;
	paths_replace(session, change, paths);
	tell_sink(session);
	note_again(session);
}

/* On success the session owns `*paths`. A session that waits has no slot with filters yet. */
static int change_apply(struct session *session, const struct engine_change *change, struct paths_found **paths,
			struct engine_error *error)
{
	_cleanup_(iotr_session_spec_done) struct iotr_session_spec spec = { 0 };
	struct slots *slots = &session->context->slots;
	struct hookset_wish wish, wish_before = session->wish;
	struct slot slot;
	int r = spec_change(&session->spec, change, &spec, error);

	if (r < 0)
		return r;
	if (session->waiting) {
		adopt(session, change, &spec, paths);
		return 0;
	}
	slots_tidy(slots);
	wish = (struct hookset_wish){ spec.streams, iotr_spec_follows_processes(&spec) };
	wish_change(session, &wish);
	r = prepare(session, &spec, paths_of(session, change, *paths), &slot, error);
	if (r < 0) {
		wish_change(session, &wish_before);
		return r;
	}
	slot_change(slots, &session->slots, &slot);
	adopt(session, change, &spec, paths);
	return 0;
}

static void setting_free(struct engine_setting *setting)
{
	iotr_session_spec_done(&setting->change.spec);
	paths_found_free(setting->paths);
	free(setting);
}

static void setting_finish(struct engine_setting *setting)
{
	struct session *session = registry_find_running(setting->registry, setting->name);
	struct engine_error error = { 0 };
	int r = setting->result;

	if (r < 0)
		engine_fail(&error, r, setting->why.parameter, setting->why.message);
	else if (!session)
		r = engine_fail(&error, -ENOENT, "name", "no such session");
	else
		r = change_apply(session, &setting->change, &setting->paths, &error);
	setting->handler(r, r < 0 ? NULL : describe_session(session), &error, setting->userdata);
	setting_free(setting);
}

/* ---- a thread looks at the paths ---- */

static struct engine_setting *setting_of(struct errand *errand)
{
	return (struct engine_setting *)((char *)errand - offsetof(struct engine_setting, errand));
}

static void setting_look(struct errand *errand)
{
	struct engine_setting *setting = setting_of(errand);

	setting->result = paths_find(&setting->change.spec, &setting->paths, &setting->why);
}

static void setting_looked(struct errand *errand)
{
	setting_finish(setting_of(errand));
}

static void setting_drop(struct errand *errand)
{
	setting_free(setting_of(errand));
}

static int setting_new(struct registry *registry, const char *name, const struct engine_change *change,
		       struct engine_setting **ret)
{
	struct engine_setting *setting = calloc(1, sizeof(*setting));
	int r;

	if (!setting)
		return -ENOMEM;
	setting->errand = (struct errand){ .work = setting_look, .done = setting_looked, .drop = setting_drop };
	setting->registry = registry;
	snprintf(setting->name, sizeof(setting->name), "%s", name);
	setting->change = *change;
	r = iotr_session_spec_copy(&setting->change.spec, &change->spec);
	if (r < 0)
		setting_free(setting);
	else
		*ret = setting;
	return r;
}

int set_new(struct registry *registry, const char *name, const struct engine_change *change,
	    engine_set_handler handler, void *userdata, struct engine_setting **ret, struct engine_error *error)
{
	const struct session *session = registry_find_running(registry, name);
	struct engine_setting *setting;
	int r;

	*ret = NULL;
	if (!session)
		return engine_fail(error, -ENOENT, "name", "no such session");
	r = setting_new(registry, name, change, &setting);
	if (r < 0)
		return engine_fail(error, r, "", "out of memory");
	setting->handler = handler;
	setting->userdata = userdata;
	if (!(change->given & PATHS)) {
		setting_finish(setting);
		return 0;
	}
	r = errand_begin(&session->context->errands, &setting->errand);
	if (r < 0) {
		setting_free(setting);
		return engine_fail(error, r, "paths", "too many requests wait for disks that do not answer");
	}
	*ret = setting;
	return 0;
}

void set_cancel(struct engine_setting *setting)
{
	errand_abandon(&setting->errand);
}
