// SPDX-License-Identifier: GPL-2.0-or-later
#include "output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "inside.h"
#include "tree.h"

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

/* Reports which right the user of this thread lacks, and in which folder. */
static int fail_create(const struct message *message, const char *path)
{
	unsigned int uid = (unsigned int)setfsuid((uid_t)-1);
	char above[PATH_MAX] = "/";
	const char *slash = path;

	if (errno != EACCES)
		return fail_errno(message, path, "cannot be created");
	while ((slash = strchr(slash + 1, '/'))) {
		if (!tree_enters(above))
			break;
		snprintf(above, sizeof(above), "%.*s", (int)(slash - path), path);
	}
	return fail(message, -EACCES, "%s: cannot be created: user %u may not %s %s", path, uid,
		    tree_enters(above) ? "write in" : "look into", above);
}

/* 1: the folder is empty, 0: it is not, or a negative errno. */
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

/* Opens the folder. One that was made just now must not be a symbolic link, and gets its final mode. */
static int open_folder(const char *path, bool made, const struct message *message)
{
	int fd = tree_open(path, O_RDONLY | O_DIRECTORY | (made ? O_NOFOLLOW : 0));

	if (fd >= 0 && made)
		inside_claim(fd, INSIDE_FOLDER_MODE);
	if (fd >= 0)
		return fd;
	if (errno == ENOTDIR)
		return fail(message, -ENOTDIR, "%s: is not a folder", path);
	return fail_errno(message, path, "cannot be opened");
}

/* Like mkdir(2), which fails with EEXIST too; tells `maker` first when the path does not exist. */
static int make(const char *path, const struct output_maker *maker)
{
	struct stat status;

	if (maker && tree_lstat(path, &status) < 0 && errno == ENOENT)
		maker->makes(path, maker->userdata);
	return tree_mkdir(path, INSIDE_FOLDER_MODE);
}

int output_create(const char *path, const struct output_maker *maker, char *text, size_t size)
{
	struct message message = { text, size };
	_cleanup_close_ int fd = -1;
	bool made;
	int error;

	made = !make(path, maker);
	if (!made && errno != EEXIST)
		return fail_create(&message, path);
	fd = open_folder(path, made, &message);
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
		bool made;

		snprintf(parent, sizeof(parent), "%.*s", (int)(slash - path), path);
		made = !tree_mkdir(parent, INSIDE_FOLDER_MODE);
		if (!made && errno != EEXIST)
			return fail_create(message, parent);
		if (made) {
			_cleanup_close_ int fd = open_folder(parent, made, message);

			if (fd < 0)
				return fd;
		}
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
			  const struct output_maker *maker, char *text, size_t size)
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
		if (!make(path, maker))
			return open_folder(path, true, &message);
		if (errno != EEXIST)
			return fail_create(&message, path);
	}
	return fail(&message, -EEXIST, "%s: every number is taken", path);
}
