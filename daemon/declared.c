// SPDX-License-Identifier: GPL-2.0-or-later
#include "declared.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "cleanup.h"
#include "log.h"
#include "config/session_file.h"
#include "spec/definition.h"
#include "spec/filter_fit.h"

/* What is under way for a session. */
struct change {
	TAILQ_ENTRY(change) entry;
	struct declared *declared;
	char name[IOTR_SESSION_NAME_MAX + 1];
	struct iotr_session_spec spec;	/* is started when the session of that name has ended; with no streams: nothing is */
	struct engine_setting *setting; /* its filters change; NULL: they do not */
};

struct declared {
	struct engine *engine;
	TAILQ_HEAD(, change) changes;
	bool ended;
	char folder[PATH_MAX];
};

/* A look at the files. */
struct look {
	struct declared *declared;
	config_critic critic;
	void *userdata;
	struct json_object *names; /* of all files, also of those that cannot be used */
};

int declared_new(struct engine *engine, const char *config, struct declared **ret)
{
	struct declared *declared = calloc(1, sizeof(*declared));

	if (!declared)
		return -ENOMEM;
	declared->engine = engine;
	TAILQ_INIT(&declared->changes);
	session_files_folder(config, declared->folder);
	*ret = declared;
	return 0;
}

static void change_free(struct change *change)
{
	TAILQ_REMOVE(&change->declared->changes, change, entry);
	iotr_session_spec_done(&change->spec);
	free(change);
}

void declared_end(struct declared *declared)
{
	struct change *change, *next;

	declared->ended = true;
	for (change = TAILQ_FIRST(&declared->changes); change; change = next) {
		next = TAILQ_NEXT(change, entry);
		if (!change->setting)
			continue; /* its handler will come, and free it */
		engine_set_cancel(change->setting);
		change_free(change);
	}
}

void declared_free(struct declared *declared)
{
	if (!declared)
		return;
	while (!TAILQ_EMPTY(&declared->changes))
		change_free(TAILQ_FIRST(&declared->changes));
	free(declared);
}

static struct change *find_change(const struct declared *declared, const char *name)
{
	struct change *change;

	TAILQ_FOREACH(change, &declared->changes, entry)
		if (!strcmp(change->name, name))
			return change;
	return NULL;
}

static struct change *change_new(struct declared *declared, const char *name)
{
	struct change *change = calloc(1, sizeof(*change));

	if (!change)
		return NULL;
	change->declared = declared;
	snprintf(change->name, sizeof(change->name), "%s", name);
	TAILQ_INSERT_TAIL(&declared->changes, change, entry);
	return change;
}

/* ---- what is wrong ---- */

static void __attribute__((format(printf, 3, 4)))
tell(const struct look *look, const char *name, const char *format, ...)
{
	_cleanup_free_ char *what = NULL, *sentence = NULL;
	va_list arguments;

	va_start(arguments, format);
	if (vasprintf(&what, format, arguments) < 0)
		what = NULL;
	va_end(arguments);
	if (!what || asprintf(&sentence, "%s/%s.session: %s", look->declared->folder, name, what) < 0)
		sentence = NULL;
	else
		look->critic(CONFIG_WRONG, sentence, look->userdata);
}

static const char *reason_of(int r, const struct engine_error *error)
{
	return *error->message ? error->message : strerror(-r);
}

static void log_failed(const char *name, int r, const struct engine_error *error)
{
	log_message(ABOUT(SESSION_NOT_STARTED, .session = name, .error = -r),
		    "session %s, which a file declares, does not start: %s%s%s", name, error->parameter,
		    *error->parameter ? ": " : "", reason_of(r, error));
}

/* Parts of the definition that give no rows now, while others may. */
static void log_warnings(const struct iotr_session_spec *spec)
{
	_cleanup_json_ struct json_object *warnings = json_object_new_array();
	struct engine_error error = { 0 };

	filter_fit_now(spec, warnings, &error);
	for (size_t i = 0; i < json_object_array_length(warnings); i++)
		log_notice("session %s: %s", spec->name, json_object_get_string(json_object_array_get_idx(warnings, i)));
}

/* ---- starts ---- */

static void on_started(int result, struct json_object *session, const struct engine_error *error, void *userdata)
{
	_cleanup_json_ struct json_object *status = session;
	_cleanup_free_ char *name = userdata;

	if (result >= 0)
		log_message(ABOUT(SESSION_STARTED, .session = name), "session %s started, as its file declares", name);
	else if (result != -ECANCELED && result != -ESHUTDOWN)
		log_failed(name, result, error);
}

static int start(struct engine *engine, const struct iotr_session_spec *spec, struct engine_error *error)
{
	static const struct rights own; /* the daemon's */
	char *name = strdup(spec->name);
	int r;

	log_warnings(spec);
	r = name ? engine_start(engine, spec, &own, on_started, name, error) : -ENOMEM;
	if (r < 0)
		free(name);
	return r;
}

/* ---- ends, and starts after them ---- */

static void on_stopped(int result, struct json_object *status, void *userdata)
{
	struct change *change = userdata;
	const struct declared *declared = change->declared;
	struct engine_error error = { 0 };
	int r = 0;

	(void)result;
	json_object_put(status);
	if (change->spec.streams && !declared->ended)
		r = start(declared->engine, &change->spec, &error);
	if (r < 0)
		log_failed(change->name, r, &error);
	change_free(change);
}

/* Stops the session; `spec`, which is taken over, is started when it has ended; NULL: none is. */
static void replace(struct declared *declared, const char *name, struct iotr_session_spec *spec)
{
	struct change *change = change_new(declared, name);
	int r;

	if (!change) {
		log_error("session %s goes on as it is: %s", name, strerror(ENOMEM));
		return;
	}
	if (spec) {
		change->spec = *spec;
		*spec = (struct iotr_session_spec){ 0 };
	}
	r = engine_stop(declared->engine, change->name, on_stopped, change); /* `name` may be that of `spec` */
	if (r >= 0)
		return;
	log_error("session %s goes on as it is: it cannot be stopped: %s", change->name, strerror(-r));
	change_free(change);
}

/* ---- filters ---- */

static void on_set(int result, struct json_object *session, const struct engine_error *error, void *userdata)
{
	struct change *change = userdata;

	json_object_put(session);
	if (result < 0)
		log_error("session %s keeps the filters that it had, although its file declares others: %s", change->name,
			  reason_of(result, error));
	else
		log_message(ABOUT(SESSION_CHANGED, .session = change->name),
			    "filters of session %s changed, as its file declares", change->name);
	change_free(change);
}

/* Returns 0, or why they cannot be changed while it runs. */
static int set_filters(struct declared *declared, const struct iotr_session_spec *spec, struct engine_error *error)
{
	struct change *change = change_new(declared, spec->name);
	struct engine_change filters = { .spec = *spec };
	struct engine_setting *setting = NULL;
	int r;

	if (!change)
		return -ENOMEM;
	for (int filter = 0; filter < IOTR_SPEC_FILTER_COUNT; filter++)
		*(iotr_spec_filter_given(spec, filter) ? &filters.given : &filters.cleared) |= 1U << filter;
	r = engine_set(declared->engine, spec->name, &filters, on_set, change, &setting, error);
	if (r < 0)
		change_free(change);
	else if (setting)
		change->setting = setting; /* otherwise the handler has freed the change */
	return r;
}

/* ---- what runs, and what is declared ---- */

static bool filters_differ(struct json_object *running, const struct iotr_session_spec *spec)
{
	_cleanup_json_ struct json_object *filters = definition_filters(spec);

	return !json_object_equal(json_object_object_get(running, "filters"), filters);
}

static void change_running(const struct look *look, struct json_object *running, struct iotr_session_spec *spec)
{
	const char *was = json_object_get_string(json_object_object_get(running, "declared"));
	struct engine_error error = { 0 };

	if (!was) {
		tell(look, spec->name, "a client has started a session of that name, which goes on: stop it, and reload");
		return;
	}
	if (!strcmp(was, spec->declared) && !filters_differ(running, spec))
		return;
	if (!strcmp(was, spec->declared) && set_filters(look->declared, spec, &error) >= 0)
		return;
	log_message(ABOUT(SESSION_REPLACED, .session = spec->name),
		    "session %s begins anew, as its file declares it otherwise", spec->name);
	replace(look->declared, spec->name, spec);
}

/* What is under way for the name goes on with what is declared now. Returns whether that is enough. */
static bool redirect(struct declared *declared, const char *name, struct iotr_session_spec *spec)
{
	struct change *change = find_change(declared, name);

	if (!change)
		return false;
	if (change->setting) { /* the filters are judged anew */
		engine_set_cancel(change->setting);
		change_free(change);
		return false;
	}
	iotr_session_spec_done(&change->spec);
	if (spec) {
		change->spec = *spec;
		*spec = (struct iotr_session_spec){ 0 };
	}
	return true;
}

static void on_file(const char *name, struct iotr_session_spec *spec, void *userdata)
{
	struct look *look = userdata;
	struct declared *declared = look->declared;
	_cleanup_json_ struct json_object *running = NULL;
	struct engine_error error = { 0 };
	bool ends = false;
	int r;

	json_object_object_add(look->names, name, json_object_new_boolean(true));
	if (!spec || redirect(declared, name, spec))
		return;
	if (engine_definition(declared->engine, name, &running, &ends) >= 0) {
		if (ends)
			replace(declared, name, spec); /* it is only waited for */
		else
			change_running(look, running, spec);
		return;
	}
	r = start(declared->engine, spec, &error);
	if (r < 0)
		tell(look, name, "the session does not start: %s%s%s", error.parameter, *error.parameter ? ": " : "",
		     reason_of(r, &error));
}

static void stop_undeclared(const struct look *look)
{
	struct declared *declared = look->declared;
	_cleanup_json_ struct json_object *sessions = NULL;

	if (engine_status(declared->engine, NULL, &sessions) < 0)
		return;
	for (size_t i = 0; i < json_object_array_length(sessions); i++) {
		struct json_object *session = json_object_array_get_idx(sessions, i);
		const char *name = json_object_get_string(json_object_object_get(session, "name"));

		if (!json_object_get_boolean(json_object_object_get(session, "declared")) ||
		    json_object_object_get_ex(look->names, name, NULL) || redirect(declared, name, NULL))
			continue;
		log_message(ABOUT(SESSION_STOPPED, .session = name), "session %s stopped, as its file has gone", name);
		replace(declared, name, NULL);
	}
}

static void on_wrong(enum config_finding finding, const char *sentence, void *userdata)
{
	const struct look *look = userdata;

	look->critic(finding, sentence, look->userdata);
}

void declared_apply(struct declared *declared, config_critic critic, void *userdata)
{
	struct look look = { declared, critic, userdata, json_object_new_object() };

	/* Where the folder cannot be read, no file is known to have gone. */
	if (session_files_read(declared->folder, on_wrong, on_file, &look))
		stop_undeclared(&look);
	json_object_put(look.names);
}
