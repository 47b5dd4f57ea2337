// SPDX-License-Identifier: GPL-2.0-or-later
/* A session's end, from the request to its last row on disk; and rotation. */
#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "cleanup.h"
#include "engine_open.h"
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

void session_free(struct session *session)
{
	if (!session)
		return;
	sd_event_source_disable_unref(session->duration);
	if (session->writer)
		engine_leave(session->engine, session->writer);
	schedule_free(session->snapshots);
	session_anonymize_done(session);
	recorder_free(session->recorder);
	losses_free(session->losses);
	json_object_put(session->missing);
	paths_found_free(session->paths);
	iotr_session_spec_done(&session->spec);
	free(session);
}

void ended_forget(struct engine *engine, const char *name, struct json_object **ret)
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

uint64_t session_missed(const struct session *session, enum iotr_stream stream)
{
	return !session->begun ? 0
			       : probes_missed(session->engine->probes, probes_stream_groups(stream)) -
					 session->missed_before[stream];
}

/* Logs names that were lost since the last report. */
static void names_log(struct session *session, enum iotr_stream stream)
{
	struct writer_counts counts;
	uint64_t before = session->names_told[stream];

	writer_counts(session->writer, stream, &counts);
	session->names_told[stream] = counts.lost_names;
	if (counts.lost_names > before)
		log_warning("session %s, stream %s: the name of a file, or an argument, was lost in %" PRIu64 " rows",
			    session->spec.name, iotr_schemas[stream].flag, counts.lost_names - before);
}

void session_report_stream(struct session *session, enum iotr_stream stream, const struct probes_loss *loss)
{
	writer_report(session->writer, stream,
		      &(struct writer_probes){ .emitted = loss->emitted,
					       .ring = loss->ring,
					       .unmatched = loss->unmatched,
					       .missed = session->missed_told[stream],
					       .unfollowed = session_unfollowed(session) });
}

void session_report(struct session *session)
{
	uint64_t unfollowed = session_unfollowed(session);
	struct probes_loss loss;

	if (unfollowed && !session->unfollowed_told)
		log_warning("session %s: there is no room to follow more processes: what those do that are born from "
			    "now on is missing", session->spec.name);
	session->unfollowed_told |= unfollowed;
	for (size_t stream = 0; session->writer && stream < IOTR_STREAM_COUNT; stream++) {
		if (!(session->spec.streams >> stream & 1))
			continue;
		session_loss(session, stream, &loss);
		session->missed_told[stream] = session_missed(session, stream);
		session_report_stream(session, stream, &loss);
		names_log(session, stream);
	}
}

static void on_stopped(int result, const struct writer_paths *paths, void *userdata)
{
	struct session *session = userdata;

	(void)paths;
	(void)result; /* the writer has logged the error, and tries again */
	session->written = true;
}

/* Whether it failed to start, or was ended before it began. */
static bool has_failed(const struct session *session)
{
	return !session->begun || !strcmp(session->reason, SESSION_FAILED);
}

void session_close(struct session *session)
{
	struct engine *engine = session->engine;
	int r = -ENOENT;

	session->duration = sd_event_source_disable_unref(session->duration);
	schedule_end(session->snapshots);
	places_give_up(session);
	control_page_clear(engine->probes, session->place.bit);
	consumer_drain(engine->consumer);
	router_detach(consumer_router(engine->consumer), session->place.bit);
	dump_detach(session);
	session_report(session);
	losses_last(session);
	groups_release_later(engine);
	consumer_run(engine->consumer, groups_needed(engine));
	if (session->writer)
		r = has_failed(session) ?
			    writer_discard_begin(session->writer, on_stopped, session) :
			    writer_stop_begin(session->writer, session->reason, on_stopped, session);
	if (r >= 0)
		return;
	/* There is nothing to write, or no memory for the request: writer_free() stops the writer. */
	session->written = true;
	eventfd_write(engine->notice, 1);
}

void session_end(struct session *session, const char *reason)
{
	static const struct engine_error error = { .message = "it was stopped before it had begun" };
	bool shutdown = !strcmp(reason, SHUTDOWN);

	if (session->reason)
		return;
	if (strcmp(reason, "stopped"))
		log_info("session %s ends: %s", session->spec.name, reason);
	session->reason = reason;
	if (!session->opening) {
		session_close(session);
		return;
	}
	opening_cancel(session->opening); /* session_opened() will be called when the disk answers */
	session_answer(session, shutdown ? -ESHUTDOWN : -ECANCELED, &error);
}

/* Keeps the last status; the oldest is dropped if there are too many. */
static void ended_keep(struct engine *engine, struct json_object *status)
{
	if (engine->ended_count == ENDED_MAX) {
		json_object_put(engine->ended[0]);
		memmove(engine->ended, engine->ended + 1,
			--engine->ended_count * sizeof(engine->ended[0]));
	}
	engine->ended[engine->ended_count++] = status;
}

/*
 * The note stays if the session ends with the daemon, so that it continues; it moves to recovery if the
 * manifest could not be written; otherwise it is removed.
 */
static void note_end(struct session *session)
{
	if (has_failed(session)) {
		session_forget(session);
		return;
	}
	if (!strcmp(session->reason, SHUTDOWN))
		return;
	if (session->left_behind || (session->writer && writer_manifest_error(session->writer)))
		running_move(session->engine->config.state_dir, session->note);
	else
		session_forget(session);
}

void session_finish(struct session *session)
{
	_cleanup_json_ struct json_object *status = NULL;
	struct engine *engine = session->engine;
	struct session_waiter *waiter = session->waiters, *next;

	tail_hub_end(session);
	note_end(session);
	status = session_status(session);
	engine->sessions[session->place.bit] = NULL;
	if (!waiter && !has_failed(session))
		ended_keep(engine, json_object_get(status));
	session_free(session);
	for (; waiter; waiter = next) {
		next = waiter->next;
		waiter->handler(0, json_object_get(status), waiter->userdata);
		free(waiter);
	}
	malloc_trim(0); /* return the memory of its threads' heaps to the kernel */
}

static int session_wait(struct session *session, engine_handler handler, void *userdata)
{
	struct session_waiter *waiter = calloc(1, sizeof(*waiter));

	if (!waiter)
		return -ENOMEM;
	*waiter = (struct session_waiter){ session->waiters, handler, userdata };
	session->waiters = waiter;
	return 0;
}

int engine_stop(struct engine *engine, const char *name, engine_handler handler, void *userdata)
{
	struct session *session = engine_find(engine, name);
	struct json_object *status = NULL;
	int r;

	if (!session) {
		ended_forget(engine, name, &status);
		if (!status)
			return -ENOENT;
		handler(0, status, userdata);
		return 0;
	}
	r = session_wait(session, handler, userdata);
	if (r < 0)
		return r;
	session_end(session, "stopped");
	if (session->written)
		session_finish(session);
	return 0;
}

struct rotation {
	engine_handler handler;
	void *userdata;
};

static void on_rotated(int result, const struct writer_paths *paths, void *userdata)
{
	struct rotation *rotation = userdata;
	struct json_object *closed = json_object_new_array();

	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		if (paths->paths[stream])
			json_object_array_add(closed,
					      json_object_new_string(paths->paths[stream]));
	rotation->handler(result, closed, rotation->userdata);
	free(rotation);
}

int engine_rotate(struct engine *engine, const char *name, engine_handler handler, void *userdata)
{
	struct session *session = engine_find(engine, name);
	struct rotation *rotation;
	int r;

	if (!session || !session_runs(session))
		return -ENOENT;
	if (!session->writer)
		return -EOPNOTSUPP;
	rotation = malloc(sizeof(*rotation));
	if (!rotation)
		return -ENOMEM;
	*rotation = (struct rotation){ handler, userdata };
	consumer_drain(engine->consumer); /* rows of operations that ended before the call go to the old segments */
	session_report(session);
	r = writer_rotate_begin(session->writer, on_rotated, rotation);
	if (r < 0)
		free(rotation);
	return r;
}
