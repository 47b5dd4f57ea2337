// SPDX-License-Identifier: GPL-2.0-or-later
/* What traces may take of the disk: the configuration as bytes, and what became of it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "definition.h"
#include "engine_internal.h"
#include "log.h"
#include "running.h"

static struct storage_limits limits_of(const struct engine *engine,
				       const struct engine_storage *config)
{
	struct statvfs status;
	uint64_t whole = 0;

	if (!statvfs(engine->config.log_dir, &status))
		whole = (uint64_t)status.f_blocks * status.f_frsize;
	else
		log_warning("%s: %m", engine->config.log_dir);
	return (struct storage_limits){
		.max_use = iotr_share_of(&config->max_use, whole),
		.keep_free = iotr_share_of(&config->keep_free, whole),
	};
}

/* Folders of the notes in one place. What finds no memory is taken for a folder like any other. */
static void add_noted(const struct engine *engine, enum running_folder place, char ***paths,
		      size_t *count)
{
	struct running_note *notes = NULL;
	ssize_t found = running_read(engine->config.state_dir, place, &notes);
	char **more = found > 0 ? reallocarray(*paths, *count + (size_t)found + 1, sizeof(*more))
				: NULL;

	*paths = more ?: *paths;
	for (ssize_t i = 0; i < found; i++) {
		if (more && (more[*count] = strdup(notes[i].output)))
			more[++*count] = NULL;
		running_note_done(&notes[i]);
	}
	free(notes);
}

/* Those that engine_resume() will have set right. */
static int new_beside_recovery(struct engine *engine, const struct storage_limits *limits)
{
	char **paths = NULL;
	size_t count = 0;
	int r;

	add_noted(engine, RUNNING_SESSIONS, &paths, &count);
	add_noted(engine, RUNNING_RECOVER, &paths, &count);
	r = storage_new(engine->config.log_dir, limits, (const char *const *)paths,
			&engine->storage);
	while (count--)
		free(paths[count]);
	free(paths);
	return r;
}

bool engine_storage_limited(const struct engine *engine)
{
	struct storage_limits limits = limits_of(engine, &engine->config.storage);

	return limits.max_use || limits.keep_free;
}

/* A percentage of a folder that is not there would be none. */
int engine_storage_new(struct engine *engine)
{
	struct storage_limits limits;

	if (mkdir(engine->config.log_dir, 0750) < 0 && errno != EEXIST)
		log_warning("cannot create %s: %m", engine->config.log_dir);
	limits = limits_of(engine, &engine->config.storage);
	return new_beside_recovery(engine, &limits);
}

void engine_set_storage(struct engine *engine, const struct engine_storage *config)
{
	struct storage_limits limits = limits_of(engine, config);

	engine->config.storage = *config;
	storage_set_limits(engine->storage, &limits);
}

void session_add_storage(struct json_object *status, const struct session *session)
{
	struct trace_counts counts;

	trace_counts(session->trace, &counts);
	add_u64(status, "stored_bytes", counts.used);
	add_u64(status, "uncompressed", counts.waiting);
	definition_add_storage(status, &session->spec);
}
