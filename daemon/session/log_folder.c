// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/log_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "cleanup.h"
#include "inside.h"
#include "log.h"
#include "session/running.h"
#include "tree.h"

static struct storage_limits limits_of(const struct session_context *context,
				       const struct engine_storage *config)
{
	struct statvfs status;
	uint64_t whole = 0;

	if (!tree_statvfs(context->config.log_dir, &status))
		whole = (uint64_t)status.f_blocks * status.f_frsize;
	else
		log_warning("limits of storage in percent do not apply: no size of the file system of %s: %m", context->config.log_dir);
	return (struct storage_limits){
		.max_use = iotr_share_of(&config->max_use, whole),
		.keep_free = iotr_share_of(&config->keep_free, whole),
	};
}

/*
 * Adds the folders of sessions that have notes. A folder for which there is no memory is treated like any other.
 */
static void add_noted(const struct session_context *context, enum running_folder which, char ***paths,
		      size_t *count)
{
	struct running_note *notes = NULL;
	ssize_t found = running_read(context->config.state_dir, which, &notes);
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

/* Creates the storage; folders that will be recovered are marked as such. */
static int new_beside_recovery(struct session_context *context, const struct storage_limits *limits)
{
	char **paths = NULL;
	size_t count = 0;
	int r;

	add_noted(context, RUNNING_SESSIONS, &paths, &count);
	add_noted(context, RUNNING_RECOVER, &paths, &count);
	r = storage_new(context->config.log_dir, &context->log_rights, limits, (const char *const *)paths,
			&context->storage);
	while (count--)
		free(paths[count]);
	free(paths);
	return r;
}

/* The limits in bytes: a percentage is of the file system of the log folder. */
static struct storage_limits limits_set(struct session_context *context, const struct engine_storage *config)
{
	struct storage_limits limits = limits_of(context, config);

	context->config.storage = *config;
	context->limited = limits.max_use || limits.keep_free;
	return limits;
}

static void make_log_dir(struct session_context *context)
{
	const char *path = context->config.log_dir;
	const gid_t *readers = context->config.readers;
	const struct rights *own;
	_cleanup_close_ int fd = -1;

	context->log_rights = (struct rights){ .gid = readers && !geteuid() ? *readers : getegid() };
	own = rights_use(&context->log_rights);
	if (tree_mkdir(path, INSIDE_FOLDER_MODE) < 0 && errno != EEXIST)
		log_warning("cannot create the log folder %s: %m", path);
	fd = tree_open(path, O_RDONLY | O_DIRECTORY);
	if (fd >= 0 && readers)
		inside_claim(fd, INSIDE_FOLDER_MODE);
	rights_use(own);
}

/* The folder is made first, as a percentage of its file system is needed. */
int log_folder_open(struct session_context *context)
{
	struct storage_limits limits;

	make_log_dir(context);
	limits = limits_set(context, &context->config.storage);
	return new_beside_recovery(context, &limits);
}

void log_folder_limit(struct session_context *context, const struct engine_storage *config)
{
	struct storage_limits limits = limits_set(context, config);

	storage_set_limits(context->storage, &limits);
}
