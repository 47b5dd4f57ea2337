// SPDX-License-Identifier: GPL-2.0-or-later
#include "output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"

#define MODE	   0750
#define SUFFIX_MAX 1000 /* folders that sessions of one name can begin in one second */

DEFINE_CLEANUP(DIR *, closedir);

struct message {
	char *text;
	size_t size;
};

__attribute__((format(printf, 3, 4))) static int fail(const struct message *message, int error,
						      const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(message->text, message->size, format, arguments);
	va_end(arguments);
	return error;
}

static int fail_errno(const struct message *message, const char *path, const char *what)
{
	int error = -errno;

	return fail(message, error, "%s: %s: %s", path, what, strerror(-error));
}

/* 1 when the folder holds nothing. */
static int is_empty(int fd)
{
	_cleanup_(closedirp) DIR *folder = NULL;
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct dirent *entry;

	if (copy < 0)
		return -errno;
	folder = fdopendir(copy);
	if (!folder) {
		close(copy);
		return -ENOMEM;
	}
	while ((entry = readdir(folder)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			return 0;
	return 1;
}

static int check(int fd, const char *path, const struct message *message)
{
	int empty = is_empty(fd);

	if (empty < 0) {
		errno = -empty;
		return fail_errno(message, path, "cannot be read");
	}
	if (!empty)
		return fail(message, -ENOTEMPTY, "%s: the output folder must be empty", path);
	if (faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) < 0)
		return fail_errno(message, path, "cannot be written");
	return 0;
}

static int open_folder(const char *path, const struct message *message)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0)
		return fd;
	if (errno == ENOTDIR)
		return fail(message, -ENOTDIR, "%s: is not a folder", path);
	return fail_errno(message, path, "cannot be opened");
}

int output_create(const char *path, char *text, size_t size)
{
	struct message message = { text, size };
	_cleanup_close_ int fd = -1;
	int error;

	if (mkdir(path, MODE) < 0 && errno != EEXIST)
		return fail_errno(&message, path, "cannot be created");
	fd = open_folder(path, &message);
	if (fd < 0)
		return fd;
	error = check(fd, path, &message);
	return error < 0 ? error : take_fd(&fd);
}

/* Creates the folders above the last slash. */
static int create_parents(const char *path, const struct message *message)
{
	char parent[PATH_MAX];

	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(parent, sizeof(parent), "%.*s", (int)(slash - path), path);
		if (mkdir(parent, MODE) < 0 && errno != EEXIST)
			return fail_errno(message, parent, "cannot be created");
	}
	return 0;
}

/* LOG_DIR/NAME/START with its number, when that is above one. */
static bool write_path(char path[PATH_MAX], const char *folder, const char *name, const char *start,
		       int number)
{
	char suffix[16] = "";

	if (number > 1)
		snprintf(suffix, sizeof(suffix), "-%d", number);
	return snprintf(path, PATH_MAX, "%s/%s/%s%s", folder, name, start, suffix) < PATH_MAX;
}

int output_create_default(const char *log_dir, const char *name, time_t start, char path[PATH_MAX],
			  char *text, size_t size)
{
	struct message message = { text, size };
	char when[32];
	struct tm date;
	int error;

	gmtime_r(&start, &date);
	strftime(when, sizeof(when), "%Y%m%dT%H%M%SZ", &date);
	for (int number = 1; number <= SUFFIX_MAX; number++) {
		if (!write_path(path, log_dir, name, when, number))
			return fail(&message, -ENAMETOOLONG, "%s: the path is too long", log_dir);
		error = create_parents(path, &message);
		if (error < 0)
			return error;
		if (!mkdir(path, MODE))
			return open_folder(path, &message);
		if (errno != EEXIST)
			return fail_errno(&message, path, "cannot be created");
	}
	return fail(&message, -EEXIST, "%s: every number is taken", path);
}
