// SPDX-License-Identifier: GPL-2.0-or-later
/* Snapshots on request, into a session's folder or one of their own. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cleanup.h"
#include "engine_errand.h"
#include "engine_snapshot_private.h"
#include "log.h"
#include "pipeline/clocks.h"
#include "pipeline/manifest.h"

#define REMOVALS_NS 10000000000ULL /* time to remove what a killed process left in a folder that is to be removed */

int engine_snapshot_kind(const char *name)
{
	return snapshot_kind_find(name);
}

/* Names are hashed as in the session's rows: hashes beside the same names in the clear would hide nothing. */
static int asked_session(struct engine_snapshot *asked, const struct engine_snapshot_request *request,
			 struct engine_error *error)
{
	asked->session = engine_find(asked->all->engine, request->name);
	if (!asked->session || !session_runs(asked->session) || !asked->session->snapshots)
		return -ENOENT;
	if (request->anonymize && !asked->session->anonymizer)
		return engine_fail(error, -EINVAL, "anonymize",
				   "the session has its names in the clear: ask for a folder of its own");
	memcpy(asked->output, asked->session->output, sizeof(asked->output));
	return 0;
}

/*
 * What to take: from the request, and from the session or the configuration where the request leaves it open.
 */
static void asked_wants(struct engine_snapshot *asked, const struct engine_snapshot_request *request)
{
	struct iotr_snapshots wanted = { 0 };

	session_snapshots_resolve(asked->all->engine, &wanted);
	if (asked->session)
		wanted = asked->session->spec.snapshots;
	asked->kinds = request->kinds ?: (1U << SNAPSHOT_KIND_COUNT) - 1;
	asked->depth = request->depth >= 0 ? (uint32_t)request->depth : wanted.depth;
	snprintf(asked->root, sizeof(asked->root), "%s", request->root ?: wanted.root);
}

static int asked_orders(struct engine_snapshot *asked)
{
	int r = 0;

	for (size_t kind = 0; kind < SNAPSHOT_KIND_COUNT && r >= 0; kind++) {
		if (!(asked->kinds >> kind & 1))
			continue;
		r = order_add(asked->all, kind, asked->session, asked, asked->root, asked->depth);
		asked->left += r >= 0;
	}
	return r;
}

/* ---- a thread makes a folder for the request, as the disk may hang ---- */

struct making {
	struct errand errand;
	struct engine_snapshot *asked;
	char *log_dir, *state_dir;
	struct rights rights; /* with which the folder is made */
	bool anonymize, anonymize_host;
	char named[PATH_MAX]; /* the folder that was asked for, or "" */
	/* Results. */
	char output[PATH_MAX];
	int folder_fd;
	uint8_t key[IOTR_ANONYMIZE_KEY_SIZE];
	int result;
	struct engine_error error;
};

static struct making *making_of(struct errand *errand)
{
	return (struct making *)((char *)errand - offsetof(struct making, errand));
}

static void making_free(struct making *making)
{
	closep(&making->folder_fd);
	explicit_bzero(making->key, sizeof(making->key));
	free(making->log_dir);
	free(making->state_dir);
	free(making);
}

static int make_folder(struct making *making)
{
	struct engine_error *error = &making->error;

	if (!making->named[0])
		return output_create_default(making->log_dir, "snapshots", time(NULL), making->output, NULL,
					     error->message, sizeof(error->message));
	memcpy(making->output, making->named, sizeof(making->output));
	return output_create(making->output, NULL, error->message, sizeof(error->message));
}

static void making_work(struct errand *errand)
{
	struct making *making = making_of(errand);
	const struct rights *own;

	if (making->anonymize)
		making->result = anonymize_key(making->state_dir, making->anonymize_host, making->key, &making->error);
	if (making->result < 0)
		return;
	own = rights_use(&making->rights);
	making->folder_fd = make_folder(making);
	rights_use(own);
	if (making->folder_fd < 0)
		making->result = engine_fail(&making->error, making->folder_fd, "output", NULL);
}

/* A folder that the user named is not removed, as it may have existed before. */
static void making_drop(struct errand *errand)
{
	struct making *making = making_of(errand);
	const struct rights *own = rights_use(&making->rights);

	if (making->folder_fd >= 0 && !making->named[0])
		rmdir(making->output);
	rights_use(own);
	making_free(making);
}

static void asked_fail(struct engine_snapshot *asked, const struct engine_error *error)
{
	asked->error = *error;
	asked->handler(NULL, NULL, &asked->error, asked->userdata);
}

static void making_done(struct errand *errand)
{
	struct making *making = making_of(errand);
	struct engine_snapshot *asked = making->asked;
	struct engine_error error = making->error;
	int r = making->result;

	asked->making = NULL;
	if (r >= 0) {
		asked->folder_fd = take_fd(&making->folder_fd);
		asked->folder_ours = !making->named[0];
		memcpy(asked->output, making->output, sizeof(asked->output));
		asked->anonymize = making->anonymize;
		memcpy(asked->anonymize_key, making->key, sizeof(asked->anonymize_key));
		r = asked_orders(asked);
		if (r < 0)
			engine_fail(&error, r, "", "out of memory");
	}
	making_free(making);
	if (r < 0)
		asked_fail(asked, &error);
}

/* The snapshots are ordered when the folder exists. */
static int asked_make_folder(struct engine_snapshot *asked, const struct engine_snapshot_request *request,
			     struct engine_error *error)
{
	const struct engine *engine = asked->all->engine;
	struct making *making = calloc(1, sizeof(*making));
	int r;

	asked->writes = request->output ? asked->caller : engine->log_rights;
	if (!making)
		return -ENOMEM;
	making->errand = (struct errand){ .work = making_work, .done = making_done, .drop = making_drop };
	making->asked = asked;
	making->folder_fd = -1;
	making->rights = asked->writes;
	making->anonymize = request->anonymize;
	making->anonymize_host = request->anonymize_host;
	making->log_dir = strdup(engine->config.log_dir);
	making->state_dir = strdup(engine->config.state_dir);
	snprintf(making->named, sizeof(making->named), "%s", request->output ?: "");
	r = making->log_dir && making->state_dir ? errand_begin(asked->all->engine, &making->errand) : -ENOMEM;
	if (r < 0) {
		making_free(making);
		return engine_fail(error, r, "", r == -EAGAIN ? "too much waits for disks that do not answer" : NULL);
	}
	asked->making = making;
	return 0;
}

/* ---- life ---- */

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
	asked->caller = *request->caller;
	asked->list = json_object_new_array();
	r = request->name ? asked_session(asked, request, error) : 0;
	if (r >= 0) {
		asked_wants(asked, request);
		r = request->name ? asked_orders(asked) : asked_make_folder(asked, request, error);
	}
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

/* If no snapshot was taken, the first error is reported. */
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

/* ---- a thread finishes the request's folder, as the disk may hang ---- */

struct closing {
	struct errand errand;
	struct engine_snapshot *asked; /* NULL: the request was freed */
	struct storage *storage;
	struct json_object *list; /* a copy; NULL: the folder contains no snapshot */
	struct rights rights; /* with which its files are made */
	struct manifest_config config;
	uint8_t key[IOTR_ANONYMIZE_KEY_SIZE];
	char output[PATH_MAX];
	bool ours;
	uint64_t stored;
};

static struct closing *closing_of(struct errand *errand)
{
	return (struct closing *)((char *)errand - offsetof(struct closing, errand));
}

static void closing_free(struct errand *errand)
{
	struct closing *closing = closing_of(errand);

	json_object_put(closing->list);
	close(closing->config.folder_fd);
	explicit_bzero(closing->key, sizeof(closing->key));
	free(closing);
}

/* From now on storage counts it among all traces. */
static struct trace *closing_trace(const struct closing *closing)
{
	const struct trace_config config = { .folder_fd = closing->config.folder_fd,
					     .path = closing->output,
					     .rights = &closing->rights };
	struct trace *trace = NULL;

	if (storage_add(closing->storage, &config, &trace) < 0)
		log_warning("%s: no memory to count its files", closing->output);
	trace_grown(trace, closing->stored);
	return trace;
}

static void closing_write(struct closing *closing)
{
	struct manifest_state state = { .reason = "done" };
	struct manifest manifest = { 0 };
	int r = -ENOMEM;

	closing->config.trace = closing_trace(closing);
	closing->config.start = state.clocks = clocks_measure();
	if (manifest_init(&manifest, &closing->config) >= 0) {
		manifest_set_snapshots(&manifest, TAKE(closing->list));
		r = manifest_write(&manifest, &state);
		if (r >= 0)
			r = manifest_sync(&manifest);
	}
	if (r < 0)
		log_warning("%s: the manifest cannot be written: %s", closing->output, strerror(-r));
	manifest_done(&manifest);
	trace_free(closing->config.trace);
}

/* A folder of its own gets a manifest, or is removed if no snapshot was taken. */
static void closing_work(struct errand *errand)
{
	struct closing *closing = closing_of(errand);

	rights_use(&closing->rights);
	if (closing->list) {
		closing_write(closing);
		return;
	}
	snapshot_removals_end(clocks_mono_ns() + REMOVALS_NS);
	snapshot_folders_remove(closing->config.folder_fd);
	if (closing->ours)
		rmdir(closing->output);
}

static void closing_done(struct errand *errand)
{
	struct engine_snapshot *asked = closing_of(errand)->asked;

	closing_free(errand);
	if (!asked)
		return;
	asked->closing = NULL;
	asked_done(asked);
}

/* Takes over the folder's descriptor. Returns false if the thread could not be started. */
static bool asked_close_folder(struct engine_snapshot *asked)
{
	struct closing *closing = calloc(1, sizeof(*closing));

	if (!closing)
		return false;
	closing->errand = (struct errand){ .work = closing_work, .done = closing_done, .drop = closing_free };
	closing->asked = asked;
	closing->storage = asked->all->engine->storage;
	closing->rights = asked->writes;
	closing->ours = asked->folder_ours;
	closing->stored = asked->stored;
	closing->config = (struct manifest_config){ .folder_fd = take_fd(&asked->folder_fd),
						    .owner_uid = asked->caller.uid };
	memcpy(closing->output, asked->output, sizeof(closing->output));
	if (asked->anonymize)
		closing->config.anonymize_key = memcpy(closing->key, asked->anonymize_key, sizeof(closing->key));
	if (asked->any && json_object_deep_copy(asked->list, &closing->list, NULL) < 0)
		closing->list = NULL;
	if (errand_begin(asked->all->engine, &closing->errand) < 0) {
		log_warning("%s: its manifest cannot be written", closing->output);
		closing_free(&closing->errand);
		return false;
	}
	asked->closing = closing;
	return true;
}

/* ---- the manifest of the session ---- */

struct telling {
	struct engine_snapshot *asked; /* NULL: the request was freed */
};

static void on_told(int result, const struct writer_paths *paths, void *userdata)
{
	struct telling *telling = userdata;
	struct engine_snapshot *asked = telling->asked;

	(void)result; /* the writer has logged the error, and tries again */
	(void)paths;
	free(telling);
	if (!asked)
		return;
	asked->telling = NULL;
	asked_done(asked);
}

/*
 * The manifest is written even if the list is the same, as a file may have replaced one of the same name.
 * Returns false if on_told() will not be called.
 */
static bool asked_tell_session(struct engine_snapshot *asked)
{
	struct telling *telling = malloc(sizeof(*telling));

	if (!telling)
		return false;
	telling->asked = asked;
	if (session_snapshots_publish(asked->session, on_told, telling) < 0) {
		free(telling);
		return false;
	}
	asked->telling = telling;
	return true;
}

/* The reply is sent when all of it is on the disk and in the manifest. */
void asked_lose(struct engine_snapshot *asked)
{
	bool last = !--asked->left;

	if (!last && asked->session)
		session_snapshots_publish(asked->session, NULL, NULL);
	if (last && !(asked->session ? asked_tell_session(asked) : asked_close_folder(asked)))
		asked_done(asked);
}

void engine_snapshot_free(struct engine_snapshot *asked)
{
	if (!asked)
		return;
	FOR_EACH_ORDER (asked->all, order, next)
		if (order->asked == asked)
			order_free(order);
	if (asked->making)
		errand_abandon(&asked->making->errand);
	if (asked->folder_fd >= 0)
		asked_close_folder(asked);
	if (asked->closing)
		asked->closing->asked = NULL;
	if (asked->telling)
		asked->telling->asked = NULL;
	closep(&asked->folder_fd);
	explicit_bzero(asked->anonymize_key, sizeof(asked->anonymize_key));
	json_object_put(asked->list);
	free(asked);
}
