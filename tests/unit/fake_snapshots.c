// SPDX-License-Identifier: GPL-2.0-or-later
/* Snapshots of the engine that traces nothing: one file, half a progress before it. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_engine.h"
#include "json_add.h"

struct engine_snapshot {
	sd_event_source *source;
	engine_snapshot_handler handler;
	void *userdata;
	struct engine_snapshot_request request;
	char output[PATH_MAX], root[PATH_MAX];
	bool told;
};

int engine_snapshot_kind(const char *name)
{
	static const char *const names[] = { "system", "process", "filesystem" };

	for (int i = 0; i < 3; i++)
		if (!strcmp(names[i], name))
			return i;
	return -ENOENT;
}

static struct json_object *snapshot_done(const struct engine_snapshot *snapshot)
{
	struct json_object *done = json_object_new_object(), *list = json_object_new_array();
	struct json_object *entry = json_object_new_object();

	add_string(entry, "kind", "filesystem");
	add_string(entry, "path", "filesystem_snapshot/filesystem_snap_000001.csv.gz");
	json_object_object_add(entry, "rows", json_object_new_int64(snapshot->request.depth));
	json_object_object_add(entry, "complete", json_object_new_boolean(true));
	json_object_array_add(list, entry);
	add_string(done, "output", snapshot->output);
	json_object_object_add(done, "snapshots", list);
	return done;
}

static int on_snapshot(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct engine_snapshot *snapshot = userdata;
	struct engine_error error = { 0 };
	struct json_object *progress;

	(void)usec;
	if (snapshot->told) {
		if (!strcmp(snapshot->root, "/absent"))
			strcpy(error.message, "/absent: No such file or directory");
		if (!strcmp(snapshot->output, "/full"))
			error = (struct engine_error){ "output", "it holds something" };
		snapshot->handler(NULL, snapshot_done(snapshot), &error, snapshot->userdata);
		return 0;
	}
	snapshot->told = true;
	progress = json_object_new_object();
	add_string(progress, "kind", "filesystem");
	json_object_object_add(progress, "rows", json_object_new_int64(7));
	snapshot->handler(progress, NULL, &error, snapshot->userdata);
	sd_event_source_set_time_relative(source, 10000);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

int engine_snapshot_new(struct engine *engine, const struct engine_snapshot_request *request,
			engine_snapshot_handler handler, void *userdata,
			struct engine_snapshot **ret, struct engine_error *error)
{
	struct engine_snapshot *snapshot;

	(void)error;
	if (request->name && !fake_engine_spec(engine, request->name))
		return -ENOENT;
	snapshot = calloc(1, sizeof(*snapshot));
	if (!snapshot)
		return -ENOMEM;
	snapshot->handler = handler;
	snapshot->userdata = userdata;
	snapshot->request = *request;
	snprintf(snapshot->output, sizeof(snapshot->output), "%s", request->output ?: "/somewhere");
	snprintf(snapshot->root, sizeof(snapshot->root), "%s", request->root ?: "/");
	sd_event_add_time_relative(fake_engine_event(engine), &snapshot->source, CLOCK_MONOTONIC, 1000,
				   0, on_snapshot, snapshot);
	*ret = snapshot;
	return 0;
}

void engine_snapshot_free(struct engine_snapshot *snapshot)
{
	if (!snapshot)
		return;
	sd_event_source_disable_unref(snapshot->source);
	free(snapshot);
}
