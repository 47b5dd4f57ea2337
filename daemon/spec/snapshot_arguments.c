// SPDX-License-Identifier: GPL-2.0-or-later
#include "snapshot_arguments.h"

#include <string.h>

#include "session_spec.h"

static struct iotr_snapshots *give(void *spec, uint32_t what)
{
	struct iotr_snapshots *snapshots = &((struct iotr_session_spec *)spec)->snapshots;

	snapshots->given |= what;
	return snapshots;
}

int snapshot_arguments_all(struct json_object *value, void *spec, struct engine_error *error)
{
	bool wanted = true;
	int r = argument_flag(value, &wanted, error);

	if (r >= 0 && !wanted)
		give(spec, IOTR_SNAPSHOTS_SYSTEM | IOTR_SNAPSHOTS_PROCESS | IOTR_SNAPSHOTS_FILESYSTEM);
	return r;
}

int snapshot_arguments_system(struct json_object *value, void *spec, struct engine_error *error)
{
	return argument_flag(value, &give(spec, IOTR_SNAPSHOTS_SYSTEM)->system, error);
}

static int parse_interval(struct json_object *value, uint64_t *ns, struct engine_error *error)
{
	int r = argument_number(value, 0, INT64_MAX, ns, error);

	if (r >= 0 && *ns && *ns < IOTR_SNAPSHOTS_INTERVAL_MIN)
		return argument_refuse(error, "it is less than a second; 0 or off means never");
	return r;
}

int snapshot_arguments_process(struct json_object *value, void *spec, struct engine_error *error)
{
	return parse_interval(value, &give(spec, IOTR_SNAPSHOTS_PROCESS)->process_ns, error);
}

int snapshot_arguments_filesystem(struct json_object *value, void *spec, struct engine_error *error)
{
	return parse_interval(value, &give(spec, IOTR_SNAPSHOTS_FILESYSTEM)->filesystem_ns, error);
}

int snapshot_arguments_root(struct json_object *value, void *spec, struct engine_error *error)
{
	const char *path = NULL;
	int r = argument_folder(value, &path, error);

	if (r >= 0)
		strcpy(give(spec, IOTR_SNAPSHOTS_ROOT)->root, path);
	return r;
}

int snapshot_arguments_depth(struct json_object *value, void *spec, struct engine_error *error)
{
	uint64_t depth = 0;
	int r = argument_number(value, 0, IOTR_SNAPSHOTS_DEPTH_MAX, &depth, error);

	if (r >= 0)
		give(spec, IOTR_SNAPSHOTS_DEPTH)->depth = (uint32_t)depth;
	return r;
}
