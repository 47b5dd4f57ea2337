// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What writers tell the main loop through one eventfd: that work is done, that a session has
 * reached a limit, that a manifest is on disk after all. And every few seconds they are told how much
 * the probes have emitted and lost, so that the manifest of a session that crashes is not stale.
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
#define STARTS_NS 2000000000ULL /* that the end of the daemon leaves to sessions that are starting */

void engine_leave(struct engine *engine, struct writer *writer)
{
	for (size_t i = 0; i < IOTR_SESSIONS_MAX && !writer_finished(writer); i++)
		if (!engine->left[i]) {
			engine->left[i] = writer;
			return;
		}
	writer_free(writer);
}

static void see_to_left(struct engine *engine)
{
	for (size_t i = 0; i < IOTR_SESSIONS_MAX; i++)
		if (engine->left[i] && writer_finished(engine->left[i])) {
			writer_free(engine->left[i]);
			engine->left[i] = NULL;
		}
}

static void see_to(struct session *session)
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

static void see_to_all(struct engine *engine)
{
	eventfd_t value;

	eventfd_read(engine->notice, &value);
	for (size_t i = 0; i < IOTR_SESSIONS_MAX; i++)
		if (engine->sessions[i])
			see_to(engine->sessions[i]);
	see_to_left(engine);
}

static int on_notice(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	(void)source, (void)fd, (void)events;
	see_to_all(userdata);
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
		see_to_all(engine);
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
	r = sd_event_add_io(engine->event, &engine->notices, engine->notice, EPOLLIN, on_notice,
			    engine);
	if (r < 0)
		return r;
	return sd_event_add_time_relative(engine->event, &engine->reports, CLOCK_MONOTONIC,
					  REPORT_US, REPORT_US / 4, on_report, engine);
}

/* All end at once, so that a slow disk is waited for once. */
void engine_notice_done(struct engine *engine)
{
	uint64_t until_ns = clocks_mono_ns() + STARTS_NS;

	for (size_t i = 0; i < IOTR_SESSIONS_MAX; i++)
		if (engine->sessions[i])
			session_end(engine->sessions[i], SHUTDOWN);
	for (size_t i = 0; i < IOTR_SESSIONS_MAX; i++)
		if (engine->sessions[i] && engine->sessions[i]->opening)
			session_await_opening(engine->sessions[i], until_ns);
	for (size_t i = 0; i < IOTR_SESSIONS_MAX; i++) {
		if (engine->sessions[i]) {
			if (engine->sessions[i]->writer)
				writer_finish(engine->sessions[i]->writer);
			session_finish(engine->sessions[i]);
		}
		writer_free(engine->left[i]);
	}
	sd_event_source_disable_unref(engine->reports);
	sd_event_source_disable_unref(engine->notices);
	if (engine->notice > 0 && !engine->abandoned)
		close(engine->notice);
}
