// SPDX-License-Identifier: GPL-2.0-or-later
/* Snapshots that sessions take, at their start and on a schedule. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "engine_snapshot_private.h"

#define GRACE_MS 250 /* time that a session's end gives to a short snapshot */

static const struct order *order_of(const struct session *session, enum snapshot_kind kind)
{
	FOR_EACH_ORDER (session->engine->snapshots, order, next)
		if (order->session == session && order->kind == kind)
			return order;
	return NULL;
}

void session_snapshots_resolve(const struct engine *engine, struct iotr_snapshots *snapshots)
{
	static const struct iotr_snapshots none = { .root = "/" };
	const struct iotr_snapshots *usual = engine->config.snapshots ?: &none;

	if (!(snapshots->given & IOTR_SNAPSHOTS_SYSTEM))
		snapshots->system = usual->system;
	if (!(snapshots->given & IOTR_SNAPSHOTS_PROCESS))
		snapshots->process_ns = usual->process_ns;
	if (!(snapshots->given & IOTR_SNAPSHOTS_FILESYSTEM))
		snapshots->filesystem_ns = usual->filesystem_ns;
	if (!(snapshots->given & IOTR_SNAPSHOTS_ROOT))
		memcpy(snapshots->root, usual->root, sizeof(snapshots->root));
	if (!(snapshots->given & IOTR_SNAPSHOTS_DEPTH))
		snapshots->depth = usual->depth;
}

static void session_order(struct session *session, enum snapshot_kind kind)
{
	const struct iotr_snapshots *wanted = &session->spec.snapshots;

	order_add(session->engine->snapshots, kind, session, NULL, wanted->root, wanted->depth);
}

static uint64_t interval_us(const struct session *session, enum snapshot_kind kind)
{
	const struct iotr_snapshots *wanted = &session->spec.snapshots;

	return (kind == SNAPSHOT_PROCESS ? wanted->process_ns : wanted->filesystem_ns) / 1000;
}

/* If the last snapshot of the kind is not done yet, no other one is ordered. */
static void session_due(sd_event_source *source, struct session *session, enum snapshot_kind kind)
{
	if (!order_of(session, kind))
		session_order(session, kind);
	sd_event_source_set_time_relative(source, interval_us(session, kind));
	sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static int on_process_due(sd_event_source *source, uint64_t usec, void *userdata)
{
	(void)usec;
	session_due(source, userdata, SNAPSHOT_PROCESS);
	return 0;
}

static int on_filesystem_due(sd_event_source *source, uint64_t usec, void *userdata)
{
	(void)usec;
	session_due(source, userdata, SNAPSHOT_FILESYSTEM);
	return 0;
}

static int session_schedule(struct session *session, enum snapshot_kind kind,
			    sd_event_time_handler_t handler)
{
	uint64_t interval = interval_us(session, kind);

	if (!interval)
		return 0;
	session_order(session, kind);
	return sd_event_add_time_relative(session->engine->event, &session->snapshots->timers[kind],
					  CLOCK_MONOTONIC, interval, 0, handler, session);
}

int session_snapshots_begin(struct session *session, int folder_fd)
{
	struct session_snapshots *own = calloc(1, sizeof(*own));
	int r;

	if (!own)
		return -ENOMEM;
	session->snapshots = own;
	own->list = json_object_new_array();
	own->folder_fd = fcntl(folder_fd, F_DUPFD_CLOEXEC, 0);
	if (own->folder_fd < 0)
		return -errno;
	if (session->spec.snapshots.system)
		session_order(session, SNAPSHOT_SYSTEM);
	r = session_schedule(session, SNAPSHOT_PROCESS, on_process_due);
	if (r >= 0)
		r = session_schedule(session, SNAPSHOT_FILESYSTEM, on_filesystem_due);
	return r;
}

void session_snapshots_told(struct session *session, struct json_object *entries, uint64_t bytes)
{
	snapshot_entries_add(session->snapshots->list, entries);
	trace_grown(session->trace, bytes);
}

int session_snapshots_publish(struct session *session, writer_handler handler, void *userdata)
{
	struct json_object *copy = NULL;

	if (json_object_deep_copy(session->snapshots->list, &copy, NULL) < 0)
		return -ENOMEM;
	return writer_snapshots(session->writer, copy, handler, userdata);
}

/* Short snapshots that are running get a moment; their result is read here, as the loop does not run. */
static void session_cancel(struct session *session)
{
	FOR_EACH_ORDER (session->engine->snapshots, order, next) {
		if (order->session != session)
			continue;
		if (order->running && order->kind != SNAPSHOT_FILESYSTEM &&
		    snapshot_wait(order->running, GRACE_MS)) {
			const struct snapshot_state last = *snapshot_state(order->running);

			order_finish(order, &last);
		} else {
			order_cancel(order);
		}
	}
}

void session_snapshots_end(struct session *session)
{
	struct session_snapshots *own = session->snapshots;

	if (!own)
		return;
	for (size_t i = 0; i < SNAPSHOT_KIND_COUNT; i++)
		own->timers[i] = sd_event_source_disable_unref(own->timers[i]);
	session_cancel(session);
	session_snapshots_publish(session, NULL, NULL);
	own->ended = true;
	snapshots_adapt_sampler(session->engine->snapshots);
}

void session_snapshots_free(struct session *session)
{
	struct session_snapshots *own = session->snapshots;

	if (!own)
		return;
	FOR_EACH_ORDER (session->engine->snapshots, order, next)
		if (order->session == session)
			order_free(order);
	for (size_t i = 0; i < SNAPSHOT_KIND_COUNT; i++)
		sd_event_source_disable_unref(own->timers[i]);
	json_object_put(own->list);
	closep(&own->folder_fd);
	free(own);
}

struct json_object *session_snapshots_status(const struct session *session)
{
	struct json_object *status = json_object_new_object();

	for (size_t kind = 0; session->snapshots && kind < SNAPSHOT_KIND_COUNT; kind++) {
		const struct order *order = order_of(session, kind);
		const struct snapshot_state *state =
			order && order->running ? snapshot_state(order->running) : NULL;
		struct json_object *now;

		now = order ? snapshot_under_way(state)
			    : snapshot_last(session->snapshots->list, kind);
		if (now)
			json_object_object_add(status, snapshot_kind_name(kind),
					       anonymize_snapshot(session, now));
	}
	return status;
}
