// SPDX-License-Identifier: GPL-2.0-or-later
#include "metrics/metrics_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "tree.h"

#define MODE 0644 /* the exporter runs as another user */

/* Whoever of the two comes last frees it. */
struct metrics_file {
	_Atomic unsigned owners;
	_Atomic bool done;
	int error; /* valid when done */
	char *text;
	size_t length;
	char path[PATH_MAX];
	char beside[PATH_MAX + 8]; /* what is written, and then renamed */
};

static void disown(struct metrics_file *file)
{
	if (atomic_fetch_sub(&file->owners, 1) > 1)
		return;
	free(file->text);
	free(file);
}

static int write_all(int fd, const char *text, size_t length)
{
	while (length) {
		ssize_t n = write(fd, text, length);

		if (n < 0)
			return errno;
		text += n;
		length -= (size_t)n;
	}
	return 0;
}

/* The folder may be another user's, who is not to choose what root writes to: the file is a new one. */
static int write_beside(const struct metrics_file *file, int folder, const char *beside)
{
	_cleanup_close_ int fd = -1;

	if (unlinkat(folder, beside, 0) < 0 && errno != ENOENT)
		return errno;
	fd = openat(folder, beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, MODE);
	if (fd < 0 || fchmod(fd, MODE) < 0)
		return errno;
	return write_all(fd, file->text, file->length);
}

static int write_and_rename(const struct metrics_file *file)
{
	const char *beside, *name = strrchr(file->path, '/') + 1;
	_cleanup_close_ int folder = tree_open_above(file->beside, &beside);
	int error;

	if (folder < 0)
		return errno;
	error = write_beside(file, folder, beside);
	if (!error && renameat(folder, beside, folder, name) < 0)
		error = errno;
	if (error)
		unlinkat(folder, beside, 0);
	return error;
}

static void *work(void *userdata)
{
	struct metrics_file *file = userdata;

	file->error = write_and_rename(file);
	atomic_store(&file->done, true);
	disown(file);
	return NULL;
}

static int begin(struct metrics_file *file)
{
	pthread_attr_t attributes;
	pthread_t thread;
	int r;

	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	r = pthread_create(&thread, &attributes, work, file);
	pthread_attr_destroy(&attributes);
	return r;
}

struct metrics_file *metrics_file_write(const char *path, char *text, size_t length)
{
	struct metrics_file *file = calloc(1, sizeof(*file));

	if (!file) {
		free(text);
		return NULL;
	}
	file->owners = 2;
	file->text = text;
	file->length = length;
	snprintf(file->path, sizeof(file->path), "%s", path);
	snprintf(file->beside, sizeof(file->beside), "%s.tmp", path);
	if (!begin(file))
		return file;
	free(text);
	free(file);
	return NULL;
}

bool metrics_file_done(struct metrics_file *file, int *error)
{
	if (!atomic_load(&file->done))
		return false;
	*error = file->error;
	return true;
}

void metrics_file_free(struct metrics_file *file)
{
	if (file)
		disown(file);
}
