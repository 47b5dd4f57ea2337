// SPDX-License-Identifier: GPL-2.0-or-later
#include "own_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "anonymize_key.h"
#include "cleanup.h"
#include "log.h"
#include "pipeline/clocks.h"
#include "pipeline/folder.h"
#include "pipeline/storage/storage.h"
#include "pipeline/writer/manifest.h"
#include "schema.h"
#include "snapshot.h"
#include "tree.h"

#define REMOVALS_NS 10000000000ULL /* time to remove what a killed process left in a folder that is to be removed */

/* While it is being made or finished, the errand's thread owns what follows `userdata`. */
struct own_folder {
	struct errand errand;
	enum { MAKING, MADE, FINISHING } stage;
	struct errands *errands;
	own_folder_handler handler; /* NULL: nobody waits */
	void *userdata;
	/* Of the request. */
	char *log_dir, *state_dir;
	struct storage *storage;
	bool named; /* by the user: it is not removed, as it may have existed before */
	bool anonymize, anonymize_host;
	uid_t owner;
	/* Of the folder. */
	char path[PATH_MAX];
	int fd;
	struct rights writes;
	uint8_t key[IOTR_ANONYMIZE_KEY_SIZE];
	/* What it contains, to be finished with. */
	struct json_object *list; /* NULL: no snapshot */
	uint64_t stored;
	/* Results of an errand. */
	int result;
	struct engine_error error;
};

static struct own_folder *folder_of(struct errand *errand)
{
	return (struct own_folder *)((char *)errand - offsetof(struct own_folder, errand));
}

static void folder_free(struct own_folder *folder)
{
	closep(&folder->fd);
	explicit_bzero(folder->key, sizeof(folder->key));
	json_object_put(folder->list);
	free(folder->log_dir);
	free(folder->state_dir);
	free(folder);
}

/* ---- on a thread ---- */

static void make(struct errand *errand)
{
	struct own_folder *folder = folder_of(errand);
	const struct folder_request request = { .named = folder->named ? folder->path : "",
						.log_dir = folder->log_dir,
						.name = "snapshots",
						.time = time(NULL),
						.rights = &folder->writes };

	if (folder->anonymize)
		folder->result = iotr_anonymize_key_choose(folder->state_dir, folder->anonymize_host, folder->key,
							   folder->error.message, sizeof(folder->error.message));
	if (folder->result < 0)
		return;
	folder->fd = folder_open(&request, folder->path, &folder->error);
	if (folder->fd < 0)
		folder->result = folder->fd;
}

/* From now on storage counts it among all traces. */
static struct trace *trace_begin(const struct own_folder *folder)
{
	const struct trace_config config = { .folder_fd = folder->fd,
					     .path = folder->path,
					     .rights = &folder->writes };
	struct trace *trace = NULL;

	if (storage_add(folder->storage, &config, &trace) < 0)
		log_warning("%s: out of memory: the limits of the log folder do not count its files", folder->path);
	trace_grown(trace, folder->stored);
	return trace;
}

static void write_manifest(struct own_folder *folder)
{
	struct manifest_state state = { .reason = "done", .clocks = clocks_measure() };
	const struct manifest_config config = { .folder_fd = folder->fd,
						.trace = trace_begin(folder),
						.owner_uid = folder->owner,
						.anonymize_key = own_folder_key(folder),
						.start = state.clocks };
	struct manifest manifest = { 0 };
	int r = -ENOMEM;

	if (manifest_init(&manifest, &config) >= 0) {
		manifest_set_snapshots(&manifest, TAKE(folder->list));
		r = manifest_write(&manifest, &state);
		if (r >= 0)
			r = manifest_sync(&manifest);
	}
	if (r < 0)
		log_warning("%s: the manifest cannot be written, so 'iotracectl verify' cannot check the snapshots: %s",
			    folder->path, strerror(-r));
	manifest_done(&manifest);
	trace_free(config.trace);
}

/* Removes the folders of snapshots as far as they are empty, and their parent if it was made for them. */
static void remove_empty(const struct own_folder *folder)
{
	snapshot_removals_end(clocks_mono_ns() + REMOVALS_NS);
	for (size_t i = 0; i < IOTR_SNAPSHOT_SCHEMAS; i++)
		unlinkat(folder->fd, iotr_snapshot_schemas[i].folder, AT_REMOVEDIR);
	if (!folder->named)
		tree_rmdir(folder->path);
}

static void finish(struct errand *errand)
{
	struct own_folder *folder = folder_of(errand);

	rights_use(&folder->writes);
	if (folder->list)
		write_manifest(folder);
	else
		remove_empty(folder);
}

/* What was being made is undone. */
static void drop(struct errand *errand)
{
	struct own_folder *folder = folder_of(errand);
	const struct rights *own;

	if (folder->stage == MAKING && folder->fd >= 0 && !folder->named) {
		own = rights_use(&folder->writes);
		tree_rmdir(folder->path);
		rights_use(own);
	}
	folder_free(folder);
}

/* ---- on the main loop ---- */

static void done(struct errand *errand)
{
	struct own_folder *folder = folder_of(errand);
	const struct engine_error error = folder->error;
	own_folder_handler handler = folder->handler;
	void *userdata = folder->userdata;
	int r = folder->result;

	if (folder->stage == MAKING && r >= 0)
		folder->stage = MADE;
	else
		folder_free(folder);
	if (handler)
		handler(r, &error, userdata);
}

/* On failure the folder is freed. */
static int begin(struct own_folder *folder, void (*work)(struct errand *errand), own_folder_handler handler,
		 void *userdata)
{
	int r;

	folder->errand = (struct errand){ .work = work, .done = done, .drop = drop };
	folder->handler = handler;
	folder->userdata = userdata;
	r = errand_begin(folder->errands, &folder->errand);
	if (r < 0)
		folder_free(folder);
	return r;
}

static struct own_folder *folder_alloc(const struct own_folder_config *config, const struct own_folder_request *request)
{
	struct own_folder *folder = calloc(1, sizeof(*folder));

	if (!folder)
		return NULL;
	folder->fd = -1;
	folder->errands = config->errands;
	folder->storage = config->storage;
	folder->log_dir = strdup(config->log_dir);
	folder->state_dir = strdup(config->state_dir);
	folder->named = request->named;
	snprintf(folder->path, sizeof(folder->path), "%s", request->named ?: "");
	folder->writes = request->named ? *request->caller : *config->log_rights;
	folder->owner = request->caller->uid;
	folder->anonymize = request->anonymize;
	folder->anonymize_host = request->anonymize_host;
	if (folder->log_dir && folder->state_dir)
		return folder;
	folder_free(folder);
	return NULL;
}

int own_folder_new(const struct own_folder_config *config, const struct own_folder_request *request,
		   own_folder_handler made, void *userdata, struct own_folder **ret, struct engine_error *error)
{
	struct own_folder *folder = folder_alloc(config, request);
	int r = folder ? begin(folder, make, made, userdata) : -ENOMEM;

	if (r < 0)
		return engine_fail(error, r, "", r == -EAGAIN ? "too much waits for disks that do not answer" : NULL);
	*ret = folder;
	return 0;
}

bool own_folder_is_made(const struct own_folder *folder)
{
	return folder->stage == MADE;
}

int own_folder_fd(const struct own_folder *folder)
{
	return folder->fd;
}

const char *own_folder_path(const struct own_folder *folder)
{
	return folder->path;
}

const struct rights *own_folder_writes(const struct own_folder *folder)
{
	return &folder->writes;
}

const uint8_t *own_folder_key(const struct own_folder *folder)
{
	return folder->anonymize ? folder->key : NULL;
}

int own_folder_finish(struct own_folder *folder, struct json_object *list, uint64_t stored,
		      own_folder_handler finished, void *userdata)
{
	folder->stage = FINISHING;
	if (list && json_object_deep_copy(list, &folder->list, NULL) < 0)
		folder->list = NULL;
	folder->stored = stored;
	return begin(folder, finish, finished, userdata);
}

void own_folder_leave(struct own_folder *folder)
{
	if (folder->stage == MAKING)
		errand_abandon(&folder->errand);
	else
		folder->handler = NULL;
}
