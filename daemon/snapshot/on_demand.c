// SPDX-License-Identifier: GPL-2.0-or-later
#include "on_demand.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "describe.h"
#include "json_add.h"
#include "log.h"

struct on_demand {
	struct orders *orders;
	struct schedule *schedule; /* NULL: into a folder of their own */
	struct own_folder *folder; /* NULL: the session's, or it does not exist any more */
	uint32_t kinds, depth;
	char root[PATH_MAX];
	char output[PATH_MAX]; /* "" as long as it is not made */
	struct rights caller;
	unsigned int left;	 /* number of orders that are not over */
	bool any;		 /* at least one was taken */
	uint64_t stored;	 /* bytes of all files on disk */
	struct telling *telling; /* the session's manifest is being written; NULL: not yet, or not any more */
	struct json_object *list;
	struct engine_error error;
	on_demand_handler handler;
	void *userdata;
};

/* ---- the end ---- */

static void finish(struct on_demand *asked)
{
	struct json_object *done = json_object_new_object();

	add_string(done, "output", asked->output);
	json_object_object_add(done, "snapshots", json_object_get(asked->list));
	asked->handler(NULL, done, &asked->error, asked->userdata);
}

/* A publication of the session's list that the request waits for. */
struct telling {
	struct on_demand *asked; /* NULL: the request was freed */
};

static void on_told(int result, const struct writer_paths *paths, void *userdata)
{
	struct telling *telling = userdata;
	struct on_demand *asked = telling->asked;

	(void)result; /* the writer has logged the error, and tries again */
	(void)paths;
	free(telling);
	if (!asked)
		return;
	asked->telling = NULL;
	finish(asked);
}

/*
 * The manifest is written even if the list is the same, as a file may have replaced one of the same name.
 * Returns false if on_told() will not be called.
 */
static bool tell_session(struct on_demand *asked)
{
	struct telling *telling = malloc(sizeof(*telling));

	if (!telling)
		return false;
	telling->asked = asked;
	if (schedule_publish(asked->schedule, on_told, telling) < 0) {
		free(telling);
		return false;
	}
	asked->telling = telling;
	return true;
}

static void on_finished(int result, const struct engine_error *error, void *userdata)
{
	struct on_demand *asked = userdata;

	(void)result, (void)error; /* was logged */
	asked->folder = NULL;
	finish(asked);
}

/* Returns false if the handler, which may be NULL, will not be called. */
static bool finish_folder(struct on_demand *asked, own_folder_handler handler)
{
	struct own_folder *folder = asked->folder;

	if (own_folder_finish(folder, asked->any ? asked->list : NULL, asked->stored, handler, asked) >= 0)
		return true;
	log_warning("%s: out of memory or threads: the manifest is not written", asked->output);
	asked->folder = NULL;
	return false;
}

/* ---- orders ---- */

/* If no snapshot was taken, the first error is reported. */
static void take(struct on_demand *asked, enum snapshot_kind kind, const struct snapshot_state *state)
{
	_cleanup_json_ struct json_object *entries = snapshot_entries(kind, state);

	if (asked->schedule)
		schedule_add(asked->schedule, kind, state);
	snapshot_entries_add(asked->list, entries);
	asked->any |= !state->error;
	asked->stored += snapshot_stored_bytes(state);
	if (asked->any)
		asked->error.message[0] = '\0';
	else if (!asked->error.message[0])
		snprintf(asked->error.message, sizeof(asked->error.message), "%s", state->message);
}

/* The reply is sent when all of it is on the disk and in the manifest. */
static void on_order(enum snapshot_kind kind, const struct snapshot_state *state, void *userdata)
{
	struct on_demand *asked = userdata;

	if (!state->ended_ns) {
		asked->handler(snapshot_progress(kind, state), NULL, &asked->error, asked->userdata);
		return;
	}
	take(asked, kind, state);
	if (--asked->left) {
		if (asked->schedule)
			schedule_publish(asked->schedule, NULL, NULL);
	} else if (!(asked->schedule ? tell_session(asked) : finish_folder(asked, on_finished))) {
		finish(asked);
	}
}

static int order_for_session(struct on_demand *asked, enum snapshot_kind kind)
{
	const struct schedule_wish wish = { kind, asked->root, asked->depth, &asked->caller };

	return schedule_order(asked->schedule, &wish, on_order, asked);
}

static int order_own(struct on_demand *asked, enum snapshot_kind kind)
{
	const uint8_t *key = own_folder_key(asked->folder);
	struct snapshot_request request = { .kind = kind, .number = 1, .depth = asked->depth, .anonymize = key };
	const struct order_config config = { .request = &request,
					     .folder_fd = own_folder_fd(asked->folder),
					     .handler = on_order,
					     .userdata = asked };
	int r;

	memcpy(request.root, asked->root, sizeof(request.root));
	request.reads = asked->caller;
	request.writes = *own_folder_writes(asked->folder);
	if (key)
		memcpy(request.anonymize_key, key, sizeof(request.anonymize_key));
	r = orders_add(asked->orders, &config);
	explicit_bzero(&request, sizeof(request));
	return r;
}

static int order_all(struct on_demand *asked)
{
	int r = 0;

	for (size_t kind = 0; kind < SNAPSHOT_KIND_COUNT && r >= 0; kind++) {
		if (!(asked->kinds >> kind & 1))
			continue;
		r = asked->schedule ? order_for_session(asked, kind) : order_own(asked, kind);
		asked->left += r >= 0;
	}
	return r;
}

/* ---- the begin ---- */

/* The snapshots are ordered when the folder exists. */
static void on_made(int result, const struct engine_error *error, void *userdata)
{
	struct on_demand *asked = userdata;
	int r = result;

	if (r < 0) {
		asked->folder = NULL;
		asked->error = *error;
	} else {
		strcpy(asked->output, own_folder_path(asked->folder));
		r = order_all(asked);
		if (r < 0)
			engine_fail(&asked->error, r, "", "out of memory");
	}
	if (r < 0)
		asked->handler(NULL, NULL, &asked->error, asked->userdata);
}

static int make_folder(struct on_demand *asked, const struct own_folder_config *config,
		       const struct on_demand_request *request, struct engine_error *error)
{
	const struct own_folder_request folder = { .named = request->output,
						   .caller = request->caller,
						   .anonymize = request->anonymize,
						   .anonymize_host = request->anonymize_host };

	return own_folder_new(config, &folder, on_made, asked, &asked->folder, error);
}

int on_demand_new(const struct on_demand_config *config, const struct on_demand_request *request,
		  on_demand_handler handler, void *userdata, struct on_demand **ret, struct engine_error *error)
{
	struct on_demand *asked = calloc(1, sizeof(*asked));
	int r;

	if (!asked)
		return engine_fail(error, -ENOMEM, "", "out of memory");
	asked->orders = config->orders;
	asked->schedule = request->schedule;
	asked->kinds = request->kinds;
	asked->depth = request->depth;
	snprintf(asked->root, sizeof(asked->root), "%s", request->root);
	asked->caller = *request->caller;
	asked->list = json_object_new_array();
	asked->handler = handler;
	asked->userdata = userdata;
	if (asked->schedule) {
		snprintf(asked->output, sizeof(asked->output), "%s", request->output);
		r = order_all(asked);
	} else {
		r = make_folder(asked, &config->folder, request, error);
	}
	if (r < 0) {
		on_demand_free(asked);
		return r;
	}
	*ret = asked;
	return 0;
}

/* What was taken by now is kept. */
void on_demand_free(struct on_demand *asked)
{
	if (!asked)
		return;
	orders_drop(asked->orders, asked);
	if (asked->folder && own_folder_is_made(asked->folder))
		finish_folder(asked, NULL);
	else if (asked->folder)
		own_folder_leave(asked->folder);
	if (asked->telling)
		asked->telling->asked = NULL;
	json_object_put(asked->list);
	free(asked);
}
