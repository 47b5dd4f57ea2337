// SPDX-License-Identifier: GPL-2.0-or-later
/* A session's life, from the request to its last row on disk. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "engine_resume.h"
#include "log.h"
#include "probes/control_page.h"
#include "schema.h"

struct session *engine_find(const struct engine *engine, const char *name)
{
	for (size_t i = 0; i < IOTR_SESSIONS_MAX; i++)
		if (engine->sessions[i] && !strcmp(engine->sessions[i]->spec.name, name))
			return engine->sessions[i];
	return NULL;
}

static void *copy(const void *from, size_t count, size_t size)
{
	void *to = count ? malloc(count * size) : NULL;

	if (to)
		memcpy(to, from, count * size);
	return to;
}

static int spec_copy(struct iotr_session_spec *to, const struct iotr_session_spec *from)
{
	*to = *from;
	to->pids = copy(from->pids, from->pid_count, sizeof(*from->pids));
	to->commands = copy(from->commands, from->command_count, sizeof(*from->commands));
	to->uids = copy(from->uids, from->uid_count, sizeof(*from->uids));
	to->devices = copy(from->devices, from->device_count, sizeof(*from->devices));
	if ((from->pid_count && !to->pids) || (from->command_count && !to->commands) ||
	    (from->uid_count && !to->uids) || (from->device_count && !to->devices))
		return -ENOMEM;
	return 0;
}

static void session_free(struct session *session)
{
	if (!session)
		return;
	sd_event_source_disable_unref(session->duration);
	writer_free(session->writer);
	session_snapshots_free(session);
	json_object_put(session->missing);
	iotr_session_spec_done(&session->spec);
	free(session);
}

DEFINE_CLEANUP(struct session *, session_free);

static int bit_find(const struct engine *engine)
{
	for (int bit = 0; bit < IOTR_SESSIONS_MAX; bit++)
		if (!engine->sessions[bit])
			return bit;
	return -ENOSPC;
}

/* Below a folder that was named, which has files by now; else where every session begins. */
static int folder_again(struct session *session, struct engine_error *error)
{
	char parent[PATH_MAX];
	char *slash;

	strcpy(parent, session->spec.output);
	while ((slash = strrchr(parent, '/')) && !slash[1])
		*slash = '\0';
	if (!slash)
		return -EINVAL;
	*slash = '\0';
	return output_create_default(parent, slash + 1, session->started.tv_sec, session->output,
				     error->message, sizeof(error->message));
}

static int folder_open(struct session *session, struct engine_error *error)
{
	if (session->spec.output[0] && session->resumes)
		return folder_again(session, error);
	if (!session->spec.output[0])
		return output_create_default(session->engine->config.log_dir, session->spec.name,
					     session->started.tv_sec, session->output,
					     error->message, sizeof(error->message));
	memcpy(session->output, session->spec.output, sizeof(session->output));
	return output_create(session->output, error->message, sizeof(error->message));
}

/* Opens the folder and starts the writer. */
static int session_open(struct session *session, struct engine_error *error)
{
	const struct engine *engine = session->engine;
	_cleanup_json_ struct json_object *definition = session_definition(session);
	_cleanup_json_ struct json_object *hooks = hooks_describe(engine, session->spec.streams);
	_cleanup_close_ int folder = -1;
	struct writer_config config = {
		.output = session->output,
		.streams = session->spec.streams,
		.session = session->spec.name,
		.level = level_name(probes_level(engine->probes)),
		.definition = definition,
		.hooks = hooks,
		.owner_uid = session->owner_uid,
	};
	int r;

	folder = folder_open(session, error);
	if (folder < 0)
		return engine_fail(error, folder, "output", NULL);
	config.output_fd = folder;
	session_note(session, folder);
	if (session->resumes)
		json_object_object_add(definition, "resumes",
				       json_object_new_string(session->resumes));
	r = writer_new(&config, &session->writer);
	if (r < 0) {
		session_forget(session);
		snprintf(error->message, sizeof(error->message), "cannot write in %.300s: %s",
			 session->output, strerror(-r));
		return engine_fail(error, r, "output", NULL);
	}
	r = session_snapshots_begin(session, folder);
	if (r < 0)
		session_forget(session);
	return r;
}

static int session_due(sd_event_source *source, uint64_t now, void *userdata)
{
	struct session *session = userdata;
	struct engine *engine = session->engine;

	(void)source;
	(void)now;
	if (engine->ended_count == ENDED_MAX) {
		json_object_put(engine->ended[0]);
		memmove(engine->ended, engine->ended + 1, --engine->ended_count * sizeof(engine->ended[0]));
	}
	log_info("session %s ends after its duration", session->spec.name);
	engine->ended[engine->ended_count++] = session_end(session, "duration");
	return 0;
}

/* Attaches what is needed and lets the rows flow. */
static int session_begin(struct session *session, struct engine_error *error)
{
	struct engine *engine = session->engine;
	int r;

	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++) {
		probes_loss(engine->probes, stream, session->bit, &session->before[stream]);
		session->missed_before[stream] = probes_missed(engine->probes, stream_groups(stream));
	}
	r = router_attach(consumer_router(engine->consumer), session->bit, session->writer);
	if (r < 0)
		return engine_fail(error, r, "", "cannot route rows to the session");
	engine->sessions[session->bit] = session;
	consumer_run(engine->consumer, true);
	groups_attach(engine);
	r = control_page_set(engine->probes, session->bit, &session->spec);
	if (r >= 0 && session->spec.duration_ns)
		r = sd_event_add_time_relative(engine->event, &session->duration, CLOCK_MONOTONIC,
					       session->spec.duration_ns / 1000, 1000, session_due,
					       session);
	if (r < 0) {
		json_object_put(session_end(session, "failed"));
		return engine_fail(error, r, "", "cannot set the filters: too many values over all sessions");
	}
	return 0;
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
	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		if (spec->streams >> stream & 1 && stream_possible(engine, stream))
			return 0;
	return engine_fail(error, -EOPNOTSUPP, "streams", "the kernel refuses the hooks of these streams");
}

static void ended_forget(struct engine *engine, const char *name, struct json_object **ret)
{
	for (size_t i = 0; i < engine->ended_count; i++) {
		struct json_object *value = json_object_object_get(engine->ended[i], "name");

		if (strcmp(json_object_get_string(value), name))
			continue;
		if (ret)
			*ret = engine->ended[i];
		else
			json_object_put(engine->ended[i]);
		memmove(engine->ended + i, engine->ended + i + 1,
			(--engine->ended_count - i) * sizeof(engine->ended[0]));
		return;
	}
}

int engine_start(struct engine *engine, const struct iotr_session_spec *spec, uint32_t owner_uid,
		 struct json_object **ret, struct engine_error *error)
{
	return session_start(engine, spec, owner_uid, NULL, ret, error);
}

int session_start(struct engine *engine, const struct iotr_session_spec *spec, uint32_t owner_uid,
		  const char *resumes, struct json_object **ret, struct engine_error *error)
{
	_cleanup_(session_freep) struct session *session = NULL;
	int bit = bit_find(engine), r;

	if (engine_find(engine, spec->name))
		return engine_fail(error, -EEXIST, "name", "a session of that name is running");
	if (bit < 0)
		return engine_fail(error, bit, "", "64 sessions are running, which is the limit");
	r = check_start(engine, spec, error);
	if (r < 0)
		return r;
	session = calloc(1, sizeof(*session));
	if (!session)
		return engine_fail(error, -ENOMEM, "", "out of memory");
	session->engine = engine;
	session->bit = bit;
	session->owner_uid = owner_uid;
	session->resumes = resumes;
	clock_gettime(CLOCK_REALTIME, &session->started);
	session->missing = missing_describe(engine, spec->streams);
	r = spec_copy(&session->spec, spec);
	session_snapshots_resolve(engine, &session->spec.snapshots);
	if (r >= 0)
		r = session_open(session, error);
	if (r < 0)
		return r;
	r = session_begin(session, error);
	if (r < 0) {
		session = NULL; /* freed by session_end() */
		return r;
	}
	ended_forget(engine, spec->name, NULL);
	*ret = session_status(session, NULL);
	session->resumes = NULL; /* is the caller's */
	TAKE(session);
	return 0;
}

void session_loss(const struct session *session, enum iotr_stream stream, struct probes_loss *loss)
{
	probes_loss(session->engine->probes, stream, session->bit, loss);
	loss->emitted -= session->before[stream].emitted;
	loss->ring -= session->before[stream].ring;
	loss->unmatched -= session->before[stream].unmatched;
}

uint64_t session_missed(const struct session *session, enum iotr_stream stream)
{
	return probes_missed(session->engine->probes, stream_groups(stream)) -
	       session->missed_before[stream];
}

static void session_report(struct session *session)
{
	struct probes_loss loss;

	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++) {
		if (!(session->spec.streams >> stream & 1))
			continue;
		session_loss(session, stream, &loss);
		writer_report(session->writer, stream,
			      &(struct writer_probes){ .emitted = loss.emitted,
						       .ring = loss.ring,
						       .unmatched = loss.unmatched,
						       .missed = session_missed(session, stream) });
	}
}

struct json_object *session_end(struct session *session, const char *reason)
{
	struct engine *engine = session->engine;
	struct json_object *status;
	int r;

	session_snapshots_end(session);
	control_page_clear(engine->probes, session->bit);
	consumer_drain(engine->consumer);
	router_detach(consumer_router(engine->consumer), session->bit);
	session_report(session);
	r = writer_stop(session->writer, reason, NULL);
	if (r < 0)
		log_error("manifest of session %s: %s", session->spec.name, strerror(-r));
	if (strcmp(reason, SHUTDOWN)) /* after which it goes on */
		session_forget(session);
	tail_hub_end(session);
	status = session_status(session, reason);
	engine->sessions[session->bit] = NULL;
	groups_release_later(engine);
	consumer_run(engine->consumer, groups_needed(engine));
	session_free(session);
	return status;
}

int engine_stop(struct engine *engine, const char *name, struct json_object **ret)
{
	struct session *session = engine_find(engine, name);

	*ret = NULL;
	if (session)
		*ret = session_end(session, "stopped");
	else
		ended_forget(engine, name, ret);
	return *ret ? 0 : -ENOENT;
}

int engine_rotate(struct engine *engine, const char *name, struct json_object **ret)
{
	struct session *session = engine_find(engine, name);
	struct writer_paths paths = { 0 };
	int r;

	if (!session)
		return -ENOENT;
	consumer_drain(engine->consumer); /* what happened before the call is in the old segments */
	session_report(session);
	r = writer_rotate(session->writer, &paths);
	*ret = json_object_new_array();
	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		if (paths.paths[stream])
			json_object_array_add(*ret, json_object_new_string(paths.paths[stream]));
	writer_paths_done(&paths);
	if (r < 0) {
		json_object_put(*ret);
		*ret = NULL;
	}
	return r;
}
