// SPDX-License-Identifier: GPL-2.0-or-later
/* Snapshots that somebody asks for, into a session's folder or one of their own. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cleanup.h"
#include "engine_snapshot_private.h"
#include "log.h"
#include "pipeline/manifest.h"

int engine_snapshot_kind(const char *name)
{
	return snapshot_kind_find(name);
}

static int asked_folder(struct engine_snapshot *asked, const struct engine_snapshot_request *request,
			struct engine_error *error)
{
	const char *log_dir = asked->all->engine->config.log_dir;

	if (request->output) {
		snprintf(asked->output, sizeof(asked->output), "%s", request->output);
		asked->folder_fd =
			output_create(asked->output, error->message, sizeof(error->message));
	} else {
		asked->folder_ours = true;
		asked->folder_fd = output_create_default(log_dir, "snapshots", time(NULL),
							 asked->output, error->message,
							 sizeof(error->message));
	}
	return asked->folder_fd < 0 ? engine_fail(error, asked->folder_fd, "output", NULL) : 0;
}

/* A session's snapshots are as its rows are: other hashed names beside names in the clear hide nothing. */
static int asked_anonymize(struct engine_snapshot *asked, const struct engine_snapshot_request *request,
			   struct engine_error *error)
{
	int r;

	if (!request->anonymize || (asked->session && asked->session->anonymizer))
		return 0;
	if (asked->session)
		return engine_fail(error, -EINVAL, "anonymize",
				   "the session has its names in the clear: ask for a folder of its own");
	r = anonymize_key(asked->all->engine->config.state_dir, asked->anonymize_key, error);
	asked->anonymize = r >= 0;
	return r;
}

static int asked_place(struct engine_snapshot *asked, const struct engine_snapshot_request *request,
		       struct engine_error *error)
{
	int r;

	asked->session = request->name ? engine_find(asked->all->engine, request->name) : NULL;
	if (request->name &&
	    (!asked->session || !session_runs(asked->session) || !asked->session->snapshots))
		return -ENOENT;
	r = asked_anonymize(asked, request, error);
	if (r < 0)
		return r;
	if (!asked->session)
		return asked_folder(asked, request, error);
	memcpy(asked->output, asked->session->output, sizeof(asked->output));
	return 0;
}

static int asked_orders(struct engine_snapshot *asked, const struct engine_snapshot_request *request)
{
	struct iotr_snapshots wanted = { 0 };
	uint32_t kinds = request->kinds ?: (1U << SNAPSHOT_KIND_COUNT) - 1;
	int r = 0;

	session_snapshots_resolve(asked->all->engine, &wanted);
	if (asked->session)
		wanted = asked->session->spec.snapshots;
	for (size_t kind = 0; kind < SNAPSHOT_KIND_COUNT && r >= 0; kind++) {
		if (!(kinds >> kind & 1))
			continue;
		r = order_add(asked->all, kind, asked->session, asked, request->root ?: wanted.root,
			      request->depth >= 0 ? (uint32_t)request->depth : wanted.depth);
		asked->left += r >= 0;
	}
	return r;
}

int engine_snapshot_new(struct engine *engine, const struct engine_snapshot_request *request,
			engine_snapshot_handler handler, void *userdata,
			struct engine_snapshot **ret, struct engine_error *error)
{
	struct engine_snapshot *asked = calloc(1, sizeof(*asked));
	int r;

	if (!asked)
		return engine_fail(error, -ENOMEM, "", "out of memory");
	asked->all = engine->snapshots;
	asked->folder_fd = -1;
	asked->handler = handler;
	asked->userdata = userdata;
	asked->owner_uid = request->owner_uid;
	asked->list = json_object_new_array();
	r = asked_place(asked, request, error);
	if (r >= 0)
		r = asked_orders(asked, request);
	if (r < 0) {
		engine_snapshot_free(asked);
		return r;
	}
	*ret = asked;
	return 0;
}

void asked_progress(struct engine_snapshot *asked, struct json_object *progress)
{
	asked->handler(progress, NULL, &asked->error, asked->userdata);
}

/* The first error is what is told when nothing was taken. */
void asked_told(struct engine_snapshot *asked, struct json_object *entries, uint64_t bytes,
		const struct snapshot_state *state)
{
	snapshot_entries_add(asked->list, entries);
	asked->any |= !state->error;
	asked->stored += bytes;
	if (asked->any)
		asked->error.message[0] = '\0';
	else if (!asked->error.message[0])
		snprintf(asked->error.message, sizeof(asked->error.message), "%s", state->message);
}

static void asked_done(struct engine_snapshot *asked)
{
	struct json_object *done = json_object_new_object();

	json_object_object_add(done, "output", json_object_new_string(asked->output));
	json_object_object_add(done, "snapshots", json_object_get(asked->list));
	asked->handler(NULL, done, &asked->error, asked->userdata);
}

void asked_lose(struct engine_snapshot *asked)
{
	if (!--asked->left)
		asked_done(asked);
}

/* It counts among all traces from now on. */
static struct trace *asked_trace(const struct engine_snapshot *asked)
{
	const struct trace_config config = { .folder_fd = asked->folder_fd, .path = asked->output };
	struct trace *trace = NULL;

	if (storage_add(asked->all->engine->storage, &config, &trace) < 0)
		log_warning("%s: no memory to count its files", asked->output);
	trace_grown(trace, asked->stored);
	return trace;
}

/* A folder of its own has a manifest of its own, or is gone when nothing came into it. */
static void asked_close_folder(struct engine_snapshot *asked)
{
	struct manifest_config config = { .folder_fd = asked->folder_fd,
					  .owner_uid = asked->owner_uid,
					  .anonymize_key =
						  asked->anonymize ? asked->anonymize_key : NULL };
	struct manifest_state state = { .reason = "done" };
	struct manifest manifest = { 0 };
	struct json_object *copy = NULL;

	if (!asked->any) {
		snapshot_folders_remove(asked->folder_fd);
		if (asked->folder_ours)
			rmdir(asked->output);
		return;
	}
	config.trace = asked_trace(asked);
	config.start = state.clocks = clocks_measure();
	if (json_object_deep_copy(asked->list, &copy, NULL) >= 0 &&
	    manifest_init(&manifest, &config) >= 0) {
		manifest_set_snapshots(&manifest, copy);
		if (manifest_write(&manifest, &state) < 0)
			log_warning("%s: the manifest cannot be written", asked->output);
	}
	manifest_done(&manifest);
	trace_free(config.trace);
}

void engine_snapshot_free(struct engine_snapshot *asked)
{
	if (!asked)
		return;
	FOR_EACH_ORDER (asked->all, order, next)
		if (order->asked == asked)
			order_free(order);
	if (asked->folder_fd >= 0) {
		asked_close_folder(asked);
		close(asked->folder_fd);
	}
	explicit_bzero(asked->anonymize_key, sizeof(asked->anonymize_key));
	json_object_put(asked->list);
	free(asked);
}
