// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Notifications of the main loop through one eventfd: a writer has finished work, a session has reached a
 * limit, a delayed manifest is on disk. In the other direction, writers get the counts of the BPF programs
 * every few seconds, so that the manifest of a session that crashes is not stale.
 */
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cleanup.h"
#include "engine_open.h"
#include "log.h"
#include "pipeline/clocks.h"

#define REPORT_US 5000000
/* Time that the daemon's end gives to writers for their last rows; systemd waits for 90 s. */
#define ENDS_NS	  45000000000ULL
#define STARTS_NS 2000000000ULL /* time that the daemon's end gives to sessions that are starting */

void engine_leave(struct engine *engine, struct writer *writer)
{
	for (size_t i = 0; i < IOTR_SESSIONS_MAX && !writer_finished(writer); i++)
		if (!engine->left[i]) {
			engine->left[i] = writer;
			return;
		}
	writer_free(writer);
}

static void close_left(struct engine *engine)
{
	for (size_t i = 0; i < IOTR_SESSIONS_MAX; i++)
		if (engine->left[i] && writer_finished(engine->left[i])) {
			writer_free(engine->left[i]);
			engine->left[i] = NULL;
		}
}

static void handle_notice(struct session *session)
{
	const char *limit = NULL;

	if (session->opening) {
		if (opening_done(session->opening))
			session_opened(session);
		return;
	}
	if (session->writer) {
		limit = writer_limit(session->writer);
		writer_collect(session->writer);
	}
	if (session->written)
		session_finish(session);
	else if (limit)
		session_end(session, limit);
}

static void handle_notices(struct engine *engine)
{
	eventfd_t value;

	eventfd_read(engine->notice, &value);
	for (size_t i = 0; i < IOTR_SESSIONS_MAX; i++)
		if (engine->sessions[i])
			handle_notice(engine->sessions[i]);
	close_left(engine);
	errands_see_to(&engine->errands);
}

static int on_notice(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	(void)source, (void)fd, (void)events;
	handle_notices(userdata);
	return 0;
}

static bool any_starts(const struct engine *engine)
{
	for (size_t i = 0; i < IOTR_SESSIONS_MAX; i++)
		if (engine->sessions[i] && engine->sessions[i]->opening)
			return true;
	return false;
}

void engine_await_starts(struct engine *engine, uint64_t until_ns)
{
	struct pollfd pollfd = { .fd = engine->notice, .events = POLLIN };
	uint64_t now;

	while (any_starts(engine) && (now = clocks_mono_ns()) < until_ns) {
		poll(&pollfd, 1, (int)((until_ns - now) / 1000000) + 1);
		handle_notices(engine);
	}
}

void engine_report_soon(struct engine *engine)
{
	int enabled = SD_EVENT_OFF;

	sd_event_source_get_enabled(engine->reports, &enabled);
	if (enabled != SD_EVENT_OFF)
		return;
	sd_event_source_set_time_relative(engine->reports, REPORT_US);
	sd_event_source_set_enabled(engine->reports, SD_EVENT_ONESHOT);
}

static int on_report(sd_event_source *source, uint64_t now, void *userdata)
{
	struct engine *engine = userdata;
	bool any = false;

	(void)source, (void)now;
	for (size_t i = 0; i < IOTR_SESSIONS_MAX; i++) {
		if (!engine->sessions[i] || !session_runs(engine->sessions[i]))
			continue;
		session_report(engine->sessions[i]);
		any = true;
	}
	if (any)
		engine_report_soon(engine);
	return 0;
}

int engine_notice_init(struct engine *engine)
{
	int r;

	engine->notice = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (engine->notice < 0)
		return -errno;
	engine->errands.notice = engine->notice;
	r = sd_event_add_io(engine->event, &engine->notices, engine->notice, EPOLLIN, on_notice,
			    engine);
	if (r < 0)
		return r;
	return sd_event_add_time_relative(engine->event, &engine->reports, CLOCK_MONOTONIC,
					  REPORT_US, REPORT_US / 4, on_report, engine);
}

/*
 * The disk may take the rest later, or never; at the next start the session's note causes recovery of its
 * folder.
 */
static void leave_behind(struct session *session)
{
	log_error("session %s: its disk does not answer, and the daemon ends without it; "
		  "what was not written by now is missing in %s", session->spec.name, session->output);
	session->engine->hung = session->engine->abandoned = true;
	session->left_behind = true;
	session->writer = NULL;
}

static void finish_session(struct session *session, uint64_t until_ns)
{
	if (session->writer && !writer_finish_until(session->writer, until_ns))
		leave_behind(session);
	session_finish(session);
}

static void finish_left(struct engine *engine, struct writer *writer, uint64_t until_ns)
{
	if (writer && !writer_finish_until(writer, until_ns))
		engine->hung = engine->abandoned = true;
	else
		writer_free(writer);
}

/* All sessions end at once, so that the time limits for a slow disk do not add up. */
void engine_notice_done(struct engine *engine)
{
	uint64_t until_ns = clocks_mono_ns() + STARTS_NS, end_ns = clocks_mono_ns() + ENDS_NS;

	for (size_t i = 0; i < IOTR_SESSIONS_MAX; i++)
		if (engine->sessions[i])
			session_end(engine->sessions[i], SHUTDOWN);
	for (size_t i = 0; i < IOTR_SESSIONS_MAX; i++)
		if (engine->sessions[i] && engine->sessions[i]->opening)
			session_await_opening(engine->sessions[i], until_ns);
	for (size_t i = 0; i < IOTR_SESSIONS_MAX; i++) {
		if (engine->sessions[i])
			finish_session(engine->sessions[i], end_ns);
		finish_left(engine, engine->left[i], end_ns);
	}
	sd_event_source_disable_unref(engine->reports);
	sd_event_source_disable_unref(engine->notices);
	if (engine->notice > 0 && !engine->abandoned)
		close(engine->notice);
}
