// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Queue of the snapshots that sessions and users have ordered. One walk of a file system runs at a time, and
 * beside it one snapshot of another kind.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "engine_snapshot_private.h"
#include "log.h"
#include "pipeline/clocks.h"
#include "snapshot/sampler.h"

/* ---- the sampler ---- */

static bool sampler_wanted(const struct engine *engine)
{
	for (size_t i = 0; i < IOTR_SESSIONS_MAX; i++) {
		const struct session *session = engine->sessions[i];

		if (session && session->snapshots && session->spec.snapshots.process_ns &&
		    !session->snapshots->ended)
			return true;
	}
	return false;
}

void snapshots_adapt_sampler(struct snapshots *all)
{
	if (all->sampler)
		sampler_run(all->sampler, sampler_wanted(all->engine));
}

static int sampler_ensure(struct snapshots *all)
{
	int r = all->sampler ? 0 : sampler_new(all->engine->event, &all->sampler);

	if (r >= 0)
		snapshots_adapt_sampler(all);
	return r;
}

/* ---- orders ---- */

static struct orders *lane_of(struct snapshots *all, enum snapshot_kind kind)
{
	return &all->lanes[kind == SNAPSHOT_FILESYSTEM ? LANE_WALK : LANE_SHORT];
}

static void lanes_start_soon(struct snapshots *all);

void order_free(struct order *order)
{
	TAILQ_REMOVE(lane_of(order->all, order->kind), order, entry);
	snapshot_free(order->running);
	lanes_start_soon(order->all);
	explicit_bzero(&order->request, sizeof(order->request));
	free(order);
}

static uint64_t stored_bytes(const struct snapshot_state *state)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < state->file_count && i < SNAPSHOT_FILES_MAX; i++)
		bytes += state->files[i].stored_bytes;
	return bytes;
}

/* Reports the result of the order to its session's list, and to the request that ordered it. */
static void order_ended(struct order *order, const struct snapshot_state *state)
{
	_cleanup_json_ struct json_object *entries = snapshot_entries(order->kind, state);
	struct engine_snapshot *asked = order->asked;
	struct session *session = order->session;

	if (state->error && state->error != -ECANCELED)
		log_warning("%s snapshot%s%s: %s", snapshot_kind_name(order->kind),
			    session ? " of session " : "", session ? session->spec.name : "",
			    state->message);
	if (session)
		session_snapshots_told(session, entries, stored_bytes(state));
	if (asked)
		asked_told(asked, entries, stored_bytes(state), state);
}

void order_finish(struct order *order, const struct snapshot_state *state)
{
	struct engine_snapshot *asked = order->asked;
	struct session *session = order->session; /* also of a request into a session's folder */

	order_ended(order, state);
	order_free(order);
	if (asked)
		asked_lose(asked);
	else
		session_snapshots_publish(session, NULL, NULL);
}

int snapshots_each_process(struct snapshots *all, void (*each)(const struct iotr_task *task, void *userdata),
			   void *userdata)
{
	int r = sampler_ensure(all);

	return r < 0 ? r : sampler_each(all->sampler, each, userdata);
}

static void on_state(const struct snapshot_state *state, void *userdata)
{
	struct order *order = userdata;

	if (state->ended_ns) {
		const struct snapshot_state last = *state;

		order_finish(order, &last);
	} else if (order->asked) {
		asked_progress(order->asked, snapshot_progress(order->kind, state));
	}
}

static void order_fail(struct order *order, int r, const char *what)
{
	struct snapshot_state state = { .error = r };

	state.started_ns = state.ended_ns = clocks_realtime_ns();
	snprintf(state.message, sizeof(state.message), "%s: %s", what, strerror(-r));
	order_finish(order, &state);
}

void order_cancel(struct order *order)
{
	struct snapshot_state state = { .error = -ECANCELED, .message = "the session ended before" };
	const struct snapshot_state *last = order->running ? snapshot_state(order->running) : NULL;

	state.ended_ns = clocks_realtime_ns();
	state.started_ns = last ? last->started_ns : 0;
	order_finish(order, &state);
}

/* The order is finished in the handler, or before this returns. */
static void order_start(struct order *order)
{
	struct snapshots *all = order->all;
	_cleanup_close_ int tasks = -1;
	int r;

	if (order->kind == SNAPSHOT_PROCESS) {
		r = sampler_ensure(all);
		tasks = r < 0 ? r : sampler_take(all->sampler);
		if (tasks < 0) {
			order_fail(order, tasks, "the kernel does not list its tasks");
			return;
		}
	}
	snprintf(order->request.country, sizeof(order->request.country), "%s",
		 all->engine->config.country ?: "");
	r = snapshot_new(all->engine->event, NULL, &order->request, order->folder_fd, tasks, on_state,
			 order, &order->running);
	if (r < 0)
		order_fail(order, r, "no process can be started for it");
}

static int lanes_start(sd_event_source *source, void *userdata)
{
	struct snapshots *all = userdata;

	sd_event_source_set_enabled(source, SD_EVENT_OFF);
	for (size_t i = 0; i < LANE_COUNT; i++) {
		struct order *first = TAILQ_FIRST(&all->lanes[i]);

		if (first && !first->running)
			order_start(first);
	}
	return 0;
}

static void lanes_start_soon(struct snapshots *all)
{
	sd_event_source_set_enabled(all->start, SD_EVENT_ONESHOT);
}

/* The orders start when the loop is idle, so that replies are sent before. */
int snapshots_new(struct engine *engine, struct snapshots **ret)
{
	struct snapshots *all = calloc(1, sizeof(*all));
	int r;

	if (!all)
		return -ENOMEM;
	all->engine = engine;
	for (size_t i = 0; i < LANE_COUNT; i++)
		TAILQ_INIT(&all->lanes[i]);
	r = sd_event_add_defer(engine->event, &all->start, lanes_start, all);
	if (r >= 0)
		r = sd_event_source_set_priority(all->start, SD_EVENT_PRIORITY_IDLE);
	if (r >= 0)
		r = sd_event_source_set_enabled(all->start, SD_EVENT_OFF);
	if (r < 0) {
		snapshots_free(all);
		return r;
	}
	*ret = all;
	return 0;
}

void snapshots_free(struct snapshots *all)
{
	if (!all)
		return;
	sd_event_source_disable_unref(all->start);
	sampler_free(all->sampler);
	free(all);
}

/* The key for the snapshot's names; NULL: names stay in the clear. */
static const uint8_t *key_of(const struct session *session, const struct engine_snapshot *asked)
{
	if (session)
		return session->anonymizer ? session->anonymize_key : NULL;
	return asked->anonymize ? asked->anonymize_key : NULL;
}

int order_add(struct snapshots *all, enum snapshot_kind kind, struct session *session,
	      struct engine_snapshot *asked, const char *root, uint32_t depth)
{
	struct order *order = calloc(1, sizeof(*order));
	const uint8_t *key = key_of(session, asked);

	if (!order)
		return -ENOMEM;
	order->kind = kind;
	order->all = all;
	order->session = session;
	order->asked = asked;
	order->folder_fd = session ? session->snapshots->folder_fd : asked->folder_fd;
	order->request.kind = kind;
	order->request.number = session ? ++session->snapshots->numbers[kind] : 1;
	order->request.depth = depth;
	snprintf(order->request.root, sizeof(order->request.root), "%s", root);
	order->request.anonymize = key;
	order->request.reads = asked ? asked->caller : session->owner;
	order->request.writes = session ? *session_writes_as(session) : asked->writes;
	if (key)
		memcpy(order->request.anonymize_key, key, IOTR_ANONYMIZE_KEY_SIZE);
	TAILQ_INSERT_TAIL(lane_of(all, kind), order, entry);
	lanes_start_soon(all);
	return 0;
}
