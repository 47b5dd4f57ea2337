// SPDX-License-Identifier: GPL-2.0-or-later
/* Disk space for traces: the limits of the configuration in bytes, and the present use. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "cleanup.h"
#include "engine_internal.h"
#include "inside.h"
#include "log.h"
#include "running.h"
#include "spec/definition.h"

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

/*
 * Adds the folders of the notes in one place. A folder for which there is no memory is treated like any other.
 */
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

/* Creates the storage; folders that engine_resume() will have recovered are marked as such. */
static int new_beside_recovery(struct engine *engine, const struct storage_limits *limits)
{
	char **paths = NULL;
	size_t count = 0;
	int r;

	add_noted(engine, RUNNING_SESSIONS, &paths, &count);
	add_noted(engine, RUNNING_RECOVER, &paths, &count);
	r = storage_new(engine->config.log_dir, &engine->log_rights, limits, (const char *const *)paths,
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

/* The log folder is closed to all but root and the group that may read traces. */
static void make_log_dir(struct engine *engine)
{
	const char *path = engine->config.log_dir;
	const gid_t *readers = engine->config.readers;
	const struct rights *own;
	_cleanup_close_ int fd = -1;

	engine->log_rights = (struct rights){ .gid = readers && !geteuid() ? *readers : getegid() };
	own = rights_use(&engine->log_rights);
	if (mkdir(path, INSIDE_FOLDER_MODE) < 0 && errno != EEXIST)
		log_warning("cannot create %s: %m", path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && readers)
		inside_claim(fd, INSIDE_FOLDER_MODE);
	rights_use(own);
}

/* The folder is made first, as a percentage of its file system is needed. */
int engine_storage_new(struct engine *engine)
{
	struct storage_limits limits;

	make_log_dir(engine);
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
