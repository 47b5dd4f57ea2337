// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/ask_snapshot.h"

#include <errno.h>
#include <stdlib.h>

#include "snapshot/on_demand.h"

struct engine_snapshot {
	struct on_demand *asked;
};

/* Names are hashed as in the session's rows: hashes beside the same names in the clear would hide nothing. */
static int check_session(const struct session *session, const struct engine_snapshot_request *request,
			 struct engine_error *error)
{
	if (!session || !session->schedule)
		return -ENOENT;
	if (request->anonymize && !session->anonymizer)
		return engine_fail(error, -EINVAL, "anonymize",
				   "the session has its names in the clear: ask for a folder of its own");
	return 0;
}

/* What the request leaves open is as for the session, or as configured. */
static int order(struct session_context *context, const struct session *session,
		 const struct engine_snapshot_request *request, engine_snapshot_handler handler, void *userdata,
		 struct on_demand **ret, struct engine_error *error)
{
	const struct on_demand_config config = { .orders = context->orders,
						 .folder = { .errands = &context->errands,
							     .storage = context->storage,
							     .log_dir = context->config.log_dir,
							     .state_dir = context->config.state_dir,
							     .log_rights = &context->log_rights } };
	struct on_demand_request whole = { .schedule = session ? session->schedule : NULL,
					   .output = session ? session->output : request->output,
					   .kinds = request->kinds ?: (1U << SNAPSHOT_KIND_COUNT) - 1,
					   .anonymize = request->anonymize,
					   .anonymize_host = request->anonymize_host,
					   .caller = request->caller };
	struct iotr_snapshots usual = { 0 };

	if (session)
		usual = session->spec.snapshots;
	else
		schedule_resolve(&usual, context->config.snapshots);
	whole.root = request->root ?: usual.root;
	whole.depth = request->depth >= 0 ? (uint32_t)request->depth : usual.depth;
	return on_demand_new(&config, &whole, handler, userdata, ret, error);
}

int ask_snapshot_new(struct session_context *context, const struct session *session,
		     const struct engine_snapshot_request *request, engine_snapshot_handler handler, void *userdata,
		     struct engine_snapshot **ret, struct engine_error *error)
{
	struct engine_snapshot *snapshot;
	int r = request->name ? check_session(session, request, error) : 0;

	if (r < 0)
		return r;
	snapshot = calloc(1, sizeof(*snapshot));
	if (!snapshot)
		return engine_fail(error, -ENOMEM, "", "out of memory");
	r = order(context, session, request, handler, userdata, &snapshot->asked, error);
	if (r < 0)
		free(snapshot);
	else
		*ret = snapshot;
	return r;
}

void ask_snapshot_free(struct engine_snapshot *snapshot)
{
	if (!snapshot)
		return;
	on_demand_free(snapshot->asked);
	free(snapshot);
}
