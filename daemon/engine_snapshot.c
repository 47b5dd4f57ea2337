// SPDX-License-Identifier: GPL-2.0-or-later
/* The snapshots of sessions, and those on request: snapshot/ with what the engine knows of them. */
#include <errno.h>
#include <stdlib.h>

#include "engine_internal.h"
#include "snapshot/on_demand.h"

/* ---- of a session ---- */

static void on_grown(uint64_t bytes, void *userdata)
{
	const struct session *session = userdata;

	trace_grown(session->trace, bytes);
}

static int publish(struct json_object *list, writer_handler handler, void *handler_userdata, void *userdata)
{
	const struct session *session = userdata;

	return writer_snapshots(session->writer, list, handler, handler_userdata);
}

int session_snapshots_begin(struct session *session, int folder_fd)
{
	const struct schedule_config config = { .orders = session->engine->snapshots,
						.event = session->engine->event,
						.session = session->spec.name,
						.wanted = &session->spec.snapshots,
						.folder_fd = folder_fd,
						.reads = &session->owner,
						.writes = session_writes_as(session),
						.key = session->anonymizer ? session->anonymize_key : NULL,
						.grown = on_grown,
						.publish = publish,
						.userdata = session };

	return schedule_new(&config, &session->snapshots);
}

/* ---- on request ---- */

struct engine_snapshot {
	struct on_demand *asked;
};

int engine_snapshot_kind(const char *name)
{
	return snapshot_kind_find(name);
}

/* Names are hashed as in the session's rows: hashes beside the same names in the clear would hide nothing. */
static int check_session(const struct session *session, const struct engine_snapshot_request *request,
			 struct engine_error *error)
{
	if (!session || !session_runs(session) || !session->snapshots)
		return -ENOENT;
	if (request->anonymize && !session->anonymizer)
		return engine_fail(error, -EINVAL, "anonymize",
				   "the session has its names in the clear: ask for a folder of its own");
	return 0;
}

/* What the request leaves open is as for the session, or as configured. */
static int order(struct engine *engine, const struct session *session, const struct engine_snapshot_request *request,
		 engine_snapshot_handler handler, void *userdata, struct on_demand **ret, struct engine_error *error)
{
	const struct on_demand_config config = { .orders = engine->snapshots,
						 .folder = { .errands = &engine->errands,
							     .storage = engine->storage,
							     .log_dir = engine->config.log_dir,
							     .state_dir = engine->config.state_dir,
							     .log_rights = &engine->log_rights } };
	struct on_demand_request whole = { .schedule = session ? session->snapshots : NULL,
					   .output = session ? session->output : request->output,
					   .kinds = request->kinds ?: (1U << SNAPSHOT_KIND_COUNT) - 1,
					   .anonymize = request->anonymize,
					   .anonymize_host = request->anonymize_host,
					   .caller = request->caller };
	struct iotr_snapshots usual = { 0 };

	if (session)
		usual = session->spec.snapshots;
	else
		schedule_resolve(&usual, engine->config.snapshots);
	whole.root = request->root ?: usual.root;
	whole.depth = request->depth >= 0 ? (uint32_t)request->depth : usual.depth;
	return on_demand_new(&config, &whole, handler, userdata, ret, error);
}

int engine_snapshot_new(struct engine *engine, const struct engine_snapshot_request *request,
			engine_snapshot_handler handler, void *userdata,
			struct engine_snapshot **ret, struct engine_error *error)
{
	const struct session *session = request->name ? engine_find(engine, request->name) : NULL;
	struct engine_snapshot *snapshot;
	int r = request->name ? check_session(session, request, error) : 0;

	if (r < 0)
		return r;
	snapshot = calloc(1, sizeof(*snapshot));
	if (!snapshot)
		return engine_fail(error, -ENOMEM, "", "out of memory");
	r = order(engine, session, request, handler, userdata, &snapshot->asked, error);
	if (r < 0)
		free(snapshot);
	else
		*ret = snapshot;
	return r;
}

void engine_snapshot_free(struct engine_snapshot *snapshot)
{
	if (!snapshot)
		return;
	on_demand_free(snapshot->asked);
	free(snapshot);
}
