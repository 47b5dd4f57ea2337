// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/tick.h"

#include "log.h"
#include "pipeline/clocks.h"
#include "probes/control_page.h"
#include "session/counts.h"
#include "session/groups_tell.h"

#define SECOND_US 1000000
#define REPORT_US 5000000

static bool runs(const struct session *session)
{
	return session->state == SESSION_RUNNING;
}

/* ---- losses ---- */

static uint32_t streams_wanted(const struct registry *registry)
{
	const struct session *session;
	uint32_t streams = 0;

	for (size_t i = 0; (session = registry_at(registry, i)); i++)
		if (runs(session))
			streams |= session->spec.streams;
	return streams;
}

/* The kernel's counters of a stream are read once for all sessions. */
static void tell_sessions(struct tick *tick, enum iotr_stream stream)
{
	struct probes_loss losses[IOTR_SESSIONS_MAX];
	struct session *session;

	if (!probes_losses(tick->context->probes, stream, losses, IOTR_SESSIONS_MAX))
		return;
	for (size_t i = 0; (session = registry_at(tick->registry, i)); i++)
		if (runs(session) && session->spec.streams >> stream & 1)
			session_report_stream(session, stream, losses);
}

static void look_at_losses(struct tick *tick)
{
	uint32_t streams = streams_wanted(tick->registry);
	struct session *session;

	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		if (streams >> stream & 1)
			tell_sessions(tick, stream);
	for (size_t i = 0; (session = registry_at(tick->registry, i)); i++)
		if (runs(session))
			session->sink->ops->look(session->sink);
}

/* ---- cgroups ---- */

static void tell_cgroups(const struct tick *tick)
{
	struct session *session;

	for (size_t i = 0; (session = registry_at(tick->registry, i)); i++)
		if (runs(session))
			groups_tell(session);
}

/* Drops those that no session's rows can name any more. */
static void forget_cgroups(const struct tick *tick)
{
	uint64_t before = UINT64_MAX;
	const struct session *session;

	for (size_t i = 0; (session = registry_at(tick->registry, i)); i++) {
		uint64_t needed = groups_tell_needed(session);

		before = needed < before ? needed : before;
	}
	if (before != UINT64_MAX)
		groups_forget(tick->context->groups, before);
}

/* ---- timers ---- */

static void sample(struct tick *tick)
{
	struct session *session;

	for (size_t i = 0; (session = registry_at(tick->registry, i)); i++)
		if (runs(session))
			rates_take(session);
	rates_take_daemon(&tick->daemon);
}

static int again(sd_event_source *source, uint64_t after_us)
{
	sd_event_source_set_time_relative(source, after_us);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static int on_second(sd_event_source *source, uint64_t now, void *userdata)
{
	struct tick *tick = userdata;

	(void)now;
	sample(tick);
	look_at_losses(tick);
	tell_cgroups(tick);
	control_page_modules(tick->context->probes);
	probes_see_to(tick->context->probes);
	log_left_out();
	clocks_measure(); /* even while no writer does: a dump needs the clock readings of now */
	return registry_at(tick->registry, 0) ? again(source, SECOND_US) : 0;
}

static int on_report(sd_event_source *source, uint64_t now, void *userdata)
{
	const struct tick *tick = userdata;
	struct session *session;

	(void)now;
	for (size_t i = 0; (session = registry_at(tick->registry, i)); i++)
		if (runs(session))
			session_report(session);
	forget_cgroups(tick);
	return registry_at(tick->registry, 0) ? again(source, REPORT_US) : 0;
}

/* Makes a timer that does not run yet. */
static int timer_new(sd_event *event, uint64_t accuracy_us, sd_event_time_handler_t handler, struct tick *tick,
		     sd_event_source **ret)
{
	int r = sd_event_add_time_relative(event, ret, CLOCK_MONOTONIC, 0, accuracy_us, handler, tick);

	return r < 0 ? r : sd_event_source_set_enabled(*ret, SD_EVENT_OFF);
}

int tick_init(struct tick *tick, struct session_context *context)
{
	int r;

	tick->context = context;
	r = timer_new(context->event, SECOND_US / 100, on_second, tick, &tick->second);
	return r < 0 ? r : timer_new(context->event, REPORT_US / 4, on_report, tick, &tick->report);
}

void tick_done(struct tick *tick)
{
	sd_event_source_disable_unref(tick->second);
	sd_event_source_disable_unref(tick->report);
}

void tick_run(struct tick *tick)
{
	int enabled = SD_EVENT_OFF;

	sd_event_source_get_enabled(tick->second, &enabled);
	if (enabled == SD_EVENT_OFF) {
		rates_begin_daemon(&tick->daemon);
		again(tick->second, SECOND_US);
	}
	sd_event_source_get_enabled(tick->report, &enabled);
	if (enabled == SD_EVENT_OFF)
		again(tick->report, REPORT_US);
}
