// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/resume.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "json_add.h"
#include "log.h"
#include "pipeline/clocks.h"
#include "spec/definition.h"
#include "spec/start_arguments.h"

#define STARTS_NS 1000000000ULL /* time that the daemon waits for these sessions before it accepts clients */

struct resuming {
	struct registry *registry;
	struct session_context *context;
	struct recovery *recovery;
};

/* A session that goes on, while it starts. */
struct resumption {
	struct session_context *context;
	struct recovery *recovery;
	char name[IOTR_SESSION_NAME_MAX + 1];
	char id[RUNNING_ID_MAX]; /* of the previous session's note */
};

static bool filters_processes(const struct running_note *note)
{
	return json_object_object_get_ex(json_object_object_get(note->definition, "filters"), "pids", NULL);
}

/* Returns NULL, or why the session does not continue. */
static const char *refusal(const struct resuming *resuming, const struct running_note *note)
{
	if (!note->inode)
		return "it was still starting";
	if (!resuming->context->config.resume)
		return "the configuration has Resume=no";
	if (registry_find(resuming->registry, note->name))
		return "a session of that name runs";
	if (note->ends_ns && note->ends_ns <= clocks_realtime_ns())
		return "its duration is over";
	if (filters_processes(note))
		return "its filter has process numbers, which may be those of others by now";
	return NULL;
}

/*
 * The note moves only when its session runs again: if the daemon is killed in between, the newer of the two
 * notes counts.
 */
static void move_note(const char *state_dir, const char *id)
{
	int r = running_move(state_dir, id);

	if (r < 0)
		log_error("cannot move the note of a session in %s, so the next start of iotracerd looks at it again: %s",
			  state_dir, strerror(-r));
}

static void refuse(const char *name, int r, const struct engine_error *error)
{
	log_message(ABOUT(SESSION_NOT_RESUMED, .session = name, .error = -r),
		    "session %s does not go on: %s%s%s", name, error->parameter, *error->parameter ? ": " : "",
		    *error->message ? error->message : strerror(-r));
}

/* A session that is still starting when the daemon ends keeps its note and continues at the next start. */
static void on_started(int result, struct json_object *session, const struct engine_error *error,
		       void *userdata)
{
	_cleanup_json_ struct json_object *status = session;
	const char *output = json_object_get_string(json_object_object_get(status, "output"));
	struct resumption *resumption = userdata;

	if (result >= 0)
		log_message(ABOUT(SESSION_RESUMED, .session = resumption->name, .output = output ?: "memory"),
			    "session %s goes on in %s", resumption->name, output ?: "memory");
	else if (result != -ESHUTDOWN)
		refuse(resumption->name, result, error);
	if (result != -ESHUTDOWN)
		move_note(resumption->context->config.state_dir, resumption->id);
	recovery_expect_less(resumption->recovery);
	free(resumption);
}

static int read_note(const struct running_note *note, struct iotr_session_spec *spec,
		     struct engine_error *error)
{
	_cleanup_json_ struct json_object *arguments = NULL;
	struct json_object *declared = NULL;
	int r;

	if (json_object_deep_copy(note->definition, &arguments, NULL) < 0)
		return -ENOMEM;
	definition_flatten(arguments);
	add_string(arguments, "name", note->name);
	if (note->ends_ns)
		add_u64(arguments, "duration_ns", note->ends_ns - clocks_realtime_ns());
	if (json_object_object_get_ex(arguments, "declared", &declared))
		declared = json_object_get(declared);
	json_object_object_del(arguments, "declared");
	r = start_arguments_read(arguments, spec, error);
	if (declared)
		spec->declared = strdup(json_object_get_string(declared));
	json_object_put(declared);
	return r;
}

static int begin_again(const struct resuming *resuming, const struct running_note *note,
		       struct engine_error *error)
{
	_cleanup_(iotr_session_spec_done) struct iotr_session_spec spec = { 0 };
	struct resumption *resumption;
	int r = read_note(note, &spec, error);

	if (r < 0)
		return r;
	resumption = malloc(sizeof(*resumption));
	if (!resumption)
		return -ENOMEM;
	resumption->context = resuming->context;
	resumption->recovery = resuming->recovery;
	strcpy(resumption->name, note->name);
	strcpy(resumption->id, note->id);
	recovery_expect(resuming->recovery);
	r = registry_start(resuming->registry, &spec, &note->owner, note, on_started, resumption, error);
	if (r < 0) {
		recovery_expect_less(resuming->recovery);
		free(resumption);
	}
	return r;
}

static void resume_session(const struct resuming *resuming, const struct running_note *note)
{
	const char *state_dir = resuming->context->config.state_dir;
	const char *refused = refusal(resuming, note);
	struct engine_error error = { 0 };
	int r;

	if (refused) {
		log_message(ABOUT(SESSION_NOT_RESUMED, .session = note->name),
			    "session %s does not go on: %s", note->name, refused);
		move_note(state_dir, note->id);
		return;
	}
	r = begin_again(resuming, note, &error);
	if (r < 0) {
		refuse(note->name, r, &error);
		move_note(state_dir, note->id);
	}
}

void resume_sessions(struct registry *registry, struct session_context *context, struct recovery *recovery)
{
	const struct resuming resuming = { registry, context, recovery };
	const char *state_dir = context->config.state_dir;
	struct running_note *notes = NULL;
	ssize_t count = running_read(state_dir, RUNNING_SESSIONS, &notes);

	if (count < 0)
		log_warning("cannot read the notes of the sessions that ran, in %s: none of them goes on: %s", state_dir,
			    strerror((int)-count));
	for (ssize_t i = 0; i < count; i++) {
		resume_session(&resuming, &notes[i]);
		running_note_done(&notes[i]);
	}
	free(notes);
	registry_await_starts(registry, clocks_mono_ns() + STARTS_NS);
}
