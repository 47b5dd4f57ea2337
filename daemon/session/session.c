// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/session.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "log.h"
#include "pipeline/clocks.h"
#include "session/admission.h"
#include "session/anonymity.h"
#include "session/describe.h"
#include "session/file_sink.h"
#include "session/lacking.h"
#include "session/memory_sink.h"
#include "session/missing.h"
#include "session/opener.h"
#include "session/recording.h"
#include "session/notes.h"
#include "snapshot/schedule.h"

DEFINE_CLEANUP(struct session *, session_free);

/* ---- states ---- */

/* States that may follow each state, as a mask with a bit for each. */
static const uint32_t transitions[SESSION_STATES] = {
	[SESSION_STARTING] = 1U << SESSION_RUNNING | 1U << SESSION_ABORTING,
	[SESSION_RUNNING] = 1U << SESSION_ENDING,
	[SESSION_ENDING] = 1U << SESSION_ENDED,
	[SESSION_ABORTING] = 1U << SESSION_FAILED,
};

/* A transition that is not in the table is an error of this program, after which nothing it tells would be true. */
static void enter(struct session *session, enum session_state state)
{
	if (!(transitions[session->state] >> state & 1)) {
		log_error("session %s: bug in iotracerd, which ends: state %d must not follow state %d", session->spec.name,
			  state, session->state);
		abort();
	}
	session->state = state;
}

static bool is_over(const struct session *session)
{
	return session->state == SESSION_ENDED || session->state == SESSION_FAILED;
}

/* If the session is over, calls all watchers and frees it. */
static void settle(struct session *session)
{
	struct session_watcher *watcher;

	if (!is_over(session))
		return;
	while ((watcher = session->watchers)) {
		session->watchers = watcher->next;
		watcher->ended(watcher);
	}
	note_end(session);
	session->events->ended(session);
}

/* ---- the end ---- */

static void on_sink_ended(void *userdata)
{
	struct session *session = userdata;

	enter(session, session->state == SESSION_ABORTING ? SESSION_FAILED : SESSION_ENDED);
}

/* No rows come any more: begins to end the sink. */
static void close_down(struct session *session)
{
	const char *reason = session->state == SESSION_ABORTING ? NULL : session->reason;

	session->duration = sd_event_source_disable_unref(session->duration);
	session->until_ns = clocks_realtime_ns();
	closep(&session->waiting_folder);
	session->waiting_folder = -1;
	recording_end(session);
	if (session->sink->ops->end(session->sink, reason, on_sink_ended, session) < 0)
		on_sink_ended(session);
}

/* What is being opened is not waited for here: on_opened() will close the session down. */
static void cancel(struct session *session)
{
	static const struct engine_error error = { .message = "it was stopped before it had begun" };
	bool shutdown = !strcmp(session->reason, SESSION_SHUTDOWN);

	enter(session, SESSION_ABORTING);
	if (session->opening)
		opening_cancel(session->opening);
	session->events->started(session, shutdown ? -ESHUTDOWN : -ECANCELED, &error);
	if (!session->awaits_programs)
		return;
	session->awaits_programs = false;
	loading_leave(session->context->probes, &session->programs);
	running_note_done(&session->continued);
	close_down(session);
	settle(session);
}

void session_end(struct session *session, const char *reason)
{
	if (session->reason)
		return;
	if (strcmp(reason, SESSION_STOPPED) != 0)
		log_message(ABOUT(SESSION_ENDED, .session = session->spec.name, .reason = reason),
			    "session %s ends: %s", session->spec.name, reason);
	session->reason = reason;
	if (session->state == SESSION_STARTING) {
		cancel(session);
		return;
	}
	enter(session, SESSION_ENDING);
	close_down(session);
	settle(session);
}

void session_collect(struct session *session)
{
	const struct row_sink_ops *ops = session->sink->ops;
	const char *limit = session->state == SESSION_RUNNING && ops->limit ? ops->limit(session->sink) : NULL;

	if (ops->collect)
		ops->collect(session->sink);
	if (is_over(session))
		settle(session);
	else if (limit)
		session_end(session, limit);
}

void session_await_end(struct session *session, uint64_t until_ns)
{
	const struct row_sink_ops *ops = session->sink->ops;

	if (ops->await && !ops->await(session->sink, until_ns)) {
		log_message(ABOUT(LEFT_BEHIND, .session = session->spec.name, .output = session->output),
			    "session %s: its disk does not answer, and the daemon ends without waiting for it; rows "
			    "that were not written by now are missing in %s", session->spec.name, session->output);
		session->context->hung = session->context->abandoned = true;
		session->left_behind = true;
	}
	if (!is_over(session)) /* its sink will not report it: it was left behind, or could not begin to end */
		on_sink_ended(session);
	settle(session);
}

/* ---- the start ---- */

static int on_duration(sd_event_source *source, uint64_t now, void *userdata)
{
	(void)source, (void)now;
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

static int set_duration(struct session *session, struct engine_error *error)
{
	int r;

	if (!session->spec.duration_ns)
		return 0;
	r = sd_event_add_time_relative(session->context->event, &session->duration, CLOCK_MONOTONIC,
				       lasts_ns(session) / 1000, 1000, on_duration, session);
	return r < 0 ? engine_fail(error, r, "", "cannot set the session's clock") : 0;
}

/* Records from now on. */
static int record(struct session *session, int folder_fd, struct engine_error *error)
{
	int r = recording_begin(session, folder_fd, error);

	return r < 0 ? r : set_duration(session, error);
}

/* Has everything open, and records when one of its triggers acts. */
static int wait_for_trigger(struct session *session, int folder_fd, struct engine_error *error)
{
	session->waiting_folder = fcntl(folder_fd, F_DUPFD_CLOEXEC, 0);
	if (session->waiting_folder < 0)
		return engine_fail(error, -errno, "", "too many files are open");
	session->waiting = true;
	hookset_unwant(session->context->hookset, &session->wish); /* they may be there already, for inodes */
	session->wish = (struct hookset_wish){ 0 };
	return 0;
}

void session_go(struct session *session)
{
	_cleanup_close_ int folder = session->waiting_folder;
	struct engine_error error = { 0 };
	int r;

	session->waiting = false;
	session->waiting_folder = -1;
	session->went = true;
	if (session->spec.duration_ns)
		session->ends_ns = clocks_realtime_ns() + session->spec.duration_ns;
	r = record(session, folder, &error);
	if (r >= 0) {
		note_again(session);
		return;
	}
	log_error("session %s cannot begin to record: %s%s%s", session->spec.name, error.parameter, *error.parameter ? ": " : "",
		  error.message);
	session_end(session, SESSION_FAILURE);
}

/* Runs, or fails with the result of the opening. */
static void go_on(struct session *session, int folder_fd, int result, struct engine_error *error)
{
	bool waits = iotr_spec_waits(&session->spec) && !session->went;

	if (result >= 0)
		result = waits ? wait_for_trigger(session, folder_fd, error) : record(session, folder_fd, error);
	if (result >= 0) {
		enter(session, SESSION_RUNNING);
		session->events->started(session, 0, error);
		return;
	}
	session->reason = SESSION_FAILURE;
	enter(session, SESSION_ABORTING);
	close_down(session);
	session->events->started(session, result, error);
	settle(session);
}

/* Takes over what was opened; the folder's descriptor stays with `opened`. */
static void take(struct session *session, struct opened *opened)
{
	struct file_sink *files = file_sink_of(session->sink);

	memcpy(session->anonymize_key, opened->anonymize_key, sizeof(session->anonymize_key));
	memcpy(session->output, opened->output, sizeof(session->output));
	strcpy(session->note, opened->note);
	memcpy(session->folder, opened->real_folder, sizeof(session->folder));
	session->inode = opened->inode;
	session->ends_ns = opened->ends_ns;
	session->before = opened->before;
	session->paths = TAKE(opened->paths);
	if (files)
		file_sink_open(files, opened->writer, opened->trace);
}

static void on_opened(struct opened *opened, void *userdata)
{
	struct session *session = userdata;

	session->opening = NULL;
	if (opened->result >= 0)
		take(session, opened);
	if (session->state == SESSION_STARTING) {
		go_on(session, opened->folder_fd, opened->result, &opened->error);
		return;
	}
	close_down(session); /* it was ended meanwhile */
	settle(session);
}

static void fill_sources(const struct session *session, struct opening_sources *sources)
{
	const struct session_context *context = session->context;

	*sources = (struct opening_sources){
		.errands = &session->context->errands,
		.storage = context->storage,
		.log_dir = context->config.log_dir,
		.state_dir = context->config.state_dir,
		.log_rights = &context->log_rights,
		.rights = session_writes_as(session),
		.limited = context->limited,
		.spec = &session->spec,
		.queue_size = context->config.queue_size ? *context->config.queue_size : 0,
		.started = session->started.tv_sec,
		.level = probes_level_name(probes_level(context->probes)),
		.hooks = missing_hooks(context->probes, session->spec.streams),
	};
}

/* The programs are loaded: what this kernel can record of it is known. */
static int open_now(struct session *session, const struct running_note *before, struct engine_error *error)
{
	const struct iotr_session_spec *spec = &session->spec;
	struct opening_sources sources;
	int r = admission_check_hooks(session->context->probes, spec, error);

	if (r < 0)
		return r;
	missing_describe(session->context->probes, spec, session->missing);
	session->ends_ns = before ? before->ends_ns : 0;
	session->went = before && before->went;
	if (spec->flight_recorder && !spec->anonymize && !spec->path_count) {
		go_on(session, -1, 0, error);
		return 0;
	}
	fill_sources(session, &sources);
	note_describe(session, &sources.note);
	r = opening_new(&sources, before, on_opened, session, &session->opening);
	if (r >= 0)
		return 0;
	snprintf(error->message, sizeof(error->message), "cannot begin to open its files: %s%s", strerror(-r),
		 r == -EAGAIN ? " (the limit of threads is reached, as TasksMax= of a service)" : "");
	return engine_fail(error, r, "", NULL);
}

static void on_programs(struct loading_wait *wait)
{
	struct session *session = (struct session *)((char *)wait - offsetof(struct session, programs));
	const struct running_note *before = session->continued.definition ? &session->continued : NULL;
	struct engine_error error = { 0 };
	int r;

	if (!wait->lacks && lacking_judged(session)) {
		wait->lacks = lacking_judged(session);
		recording_want(session);
		loading_await(session->context->probes, wait);
		return;
	}
	session->awaits_programs = false;
	r = open_now(session, before, &error);
	running_note_done(&session->continued);
	if (r < 0)
		go_on(session, -1, r, &error);
}

int session_open(struct session *session, const struct running_note *before, struct engine_error *error)
{
	struct session_context *context = session->context;
	const struct hookset_wish wish = { session->spec.streams, true }; /* changed filters may follow processes */
	int r = 0;

	session->before_until_ns = before ? before->until_ns : 0;
	session->programs.groups = hookset_groups(context->probes, &wish);
	session->programs.loaded = on_programs;
	if (loading_done(context->probes, session->programs.groups) && !lacking_judged(session))
		return open_now(session, before, error);
	if (before)
		r = running_note_copy(before, &session->continued);
	if (r < 0)
		return engine_fail(error, r, "", "out of memory");
	session->awaits_programs = true;
	loading_await(context->probes, &session->programs);
	return 0;
}

void session_await_opening(struct session *session, uint64_t until_ns)
{
	if (!session->opening || opening_wait(session->opening, until_ns))
		return;
	log_message(ABOUT(LEFT_BEHIND, .session = session->spec.name),
		    "session %s: its disk does not answer, so it ends before it has begun", session->spec.name);
	opening_abandon(TAKE(session->opening));
	session->context->abandoned = true;
	enter(session, SESSION_FAILED);
	settle(session);
}

/* ---- life ---- */

static int make_sink(struct session *session)
{
	const struct iotr_session_spec *spec = &session->spec;
	struct memory_sink *memory = NULL;
	struct file_sink *files;
	int r;

	if (!spec->flight_recorder) {
		files = file_sink_new(spec, session->output, &session->context->lingering);
		session->sink = files ? &files->base : NULL;
		return files ? 0 : -ENOMEM;
	}
	r = memory_sink_new(spec->name, spec->streams, spec->flight_recorder, &memory);
	if (r >= 0)
		session->sink = &memory->base;
	return r;
}

int session_new(struct session_context *context, const struct iotr_session_spec *spec, const struct rights *owner,
		int bit, const struct session_events *events, void *userdata, struct session **ret)
{
	_cleanup_(session_freep) struct session *session = calloc(1, sizeof(*session));
	int r;

	if (!session)
		return -ENOMEM;
	session->context = context;
	session->events = events;
	session->userdata = userdata;
	session->owner = *owner;
	clock_gettime(CLOCK_REALTIME, &session->started);
	session->missing = json_object_new_array();
	memcpy(session->output, spec->output, sizeof(session->output));
	session->waiting_folder = -1;
	slot_own(&context->slots, &session->slots, bit);
	session->slots.name = session->spec.name;
	r = iotr_session_spec_copy(&session->spec, spec);
	if (r < 0)
		return r;
	schedule_resolve(&session->spec.snapshots, context->config.snapshots);
	r = make_sink(session);
	if (r < 0)
		return r;
	session->slots.sink = session->sink;
	*ret = TAKE(session);
	return 0;
}

void session_free(struct session *session)
{
	if (!session)
		return;
	slot_disown(&session->context->slots, &session->slots);
	sd_event_source_disable_unref(session->duration);
	schedule_free(session->schedule);
	if (session->sink)
		session->sink->ops->free(session->sink);
	anonymize_end(session);
	json_object_put(session->missing);
	json_object_put(session->gaps);
	json_object_put(session->lacking);
	json_object_put(session->in_flight);
	closep(&session->waiting_folder);
	paths_found_free(session->paths);
	iotr_session_spec_done(&session->spec);
	free(session);
}

void session_tell_triggers(struct session *session)
{
	_cleanup_json_ struct json_object *triggers = describe_triggers(session);

	row_sink_tell(session->sink, "triggers", triggers);
}

const struct rights *session_writes_as(const struct session *session)
{
	return session->spec.output[0] ? &session->owner : &session->context->log_rights;
}

void session_watch(struct session *session, struct session_watcher *watcher)
{
	watcher->next = session->watchers;
	session->watchers = watcher;
}

void session_unwatch(struct session *session, struct session_watcher *watcher)
{
	for (struct session_watcher **at = &session->watchers; *at; at = &(*at)->next)
		if (*at == watcher) {
			*at = watcher->next;
			return;
		}
}
