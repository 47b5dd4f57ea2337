// SPDX-License-Identifier: GPL-2.0-or-later
/* The life of a trace, until its last reference is gone, and how its folder is opened. */
#include "storage_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "inside.h"
#include "schema.h"
#include "tree.h"

#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

void trace_init(struct trace *trace, struct storage *storage, dev_t device, bool counted)
{
	*trace = (struct trace){ .storage = storage,
				 .folder_fd = -1,
				 .eventfd = -1,
				 .device = device,
				 .counted = counted };
	pthread_mutex_init(&trace->files, NULL);
	TAILQ_INIT(&trace->changes);
	SLIST_INIT(&trace->marks);
	for (int stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		TAILQ_INIT(&trace->kept[stream]);
}

struct trace *trace_alloc(struct storage *storage, dev_t device, bool counted)
{
	struct trace *trace = malloc(sizeof(*trace));

	if (!trace)
		return NULL;
	trace_init(trace, storage, device, counted);
	TAILQ_INSERT_TAIL(&storage->traces, trace, entry);
	return trace;
}

static void free_marks(struct trace *trace)
{
	struct mark *mark;

	while ((mark = SLIST_FIRST(&trace->marks))) {
		SLIST_REMOVE_HEAD(&trace->marks, entry);
		free(mark);
	}
}

static void destroy(struct trace *trace)
{
	struct kept *kept;

	TAILQ_REMOVE(&trace->storage->traces, trace, entry);
	if (trace->device == trace->storage->device)
		trace->storage->in_flight -= trace->in_flight;
	while ((kept = TAILQ_FIRST(&trace->changes))) {
		TAILQ_REMOVE(&trace->changes, kept, change);
		kept->changed = false;
		kept_put(kept);
	}
	for (int stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		while ((kept = TAILQ_FIRST(&trace->kept[stream]))) {
			TAILQ_REMOVE(&trace->kept[stream], kept, entry);
			free(kept);
		}
	free_marks(trace);
	if (trace->folder_fd >= 0)
		close(trace->folder_fd);
	pthread_mutex_destroy(&trace->files);
	free(trace->untold);
	free(trace->rights);
	free(trace->path);
	free(trace);
}

void trace_unref(struct trace *trace)
{
	bool stopping = atomic_load(&trace->storage->stopping);

	if (--trace->references || !trace->ended)
		return;
	if (!stopping &&
	    (trace->waiting || atomic_load(&trace->change_count) || trace->untold_count))
		return;
	if (!trace->counted || !trace->used)
		destroy(trace);
	else if (trace->folder_fd >= 0) {
		close(trace->folder_fd);
		trace->folder_fd = -1;
	}
}

/* Whether PATH lies in the folder. */
static bool below(const char *path, const char *folder)
{
	size_t length = strlen(folder);

	return !strncmp(path, folder, length) && path[length] == '/';
}

int storage_add(struct storage *storage, const struct trace_config *config, struct trace **ret)
{
	struct trace *trace = NULL;
	char *path = strdup(config->path);
	struct rights *rights = config->rights ? malloc(sizeof(*rights)) : NULL;
	int fd = fcntl(config->folder_fd, F_DUPFD_CLOEXEC, 0);
	struct stat status;
	bool known = path && (rights || !config->rights) && fd >= 0 && !fstat(fd, &status); /* may wait for the disk */

	if (rights)
		*rights = *config->rights;
	pthread_mutex_lock(&storage->lock);
	if (known)
		trace = trace_alloc(storage, status.st_dev, below(path, storage->log_dir));
	if (trace) {
		trace->references = 1;
		trace->path = path;
		trace->rights = rights;
		trace->folder_fd = fd;
		trace->inode = status.st_ino;
		trace->streams = config->streams;
		trace->compress = config->compress;
		trace->keep_size = config->keep_size;
		trace->keep_segments = config->keep_segments;
		storage->running += trace->counted;
	}
	pthread_mutex_unlock(&storage->lock);
	if (trace) {
		*ret = trace;
		return 0;
	}
	free(rights);
	free(path);
	if (fd >= 0)
		close(fd);
	return -ENOMEM;
}

int trace_open(const struct trace *trace)
{
	_cleanup_close_ int fd = trace->folder_fd >= 0 ? openat(trace->folder_fd, ".", FOLDER_FLAGS)
						       : tree_open(trace->path, FOLDER_FLAGS);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0)
		return -errno;
	return status.st_ino == trace->inode && status.st_dev == trace->device ? take_fd(&fd) : -ENOENT;
}

int trace_open_stream(const struct trace *trace, enum iotr_stream stream)
{
	_cleanup_close_ int folder = trace_open(trace);

	return folder < 0 ? folder : inside_folder(folder, iotr_schemas[stream].folder);
}
