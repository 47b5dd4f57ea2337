// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The lines are read here and not by a library: of two bad lines inih tells one, an unknown section it does not tell,
 * an indented key it takes for more of the value before, and long values and those with a ';' it cuts.
 */
#include "config/config_file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"

#define OTHERS_WRITE 022

char *config_file_strip(char *text)
{
	size_t length;

	while (isspace((unsigned char)*text))
		text++;
	length = strlen(text);
	while (length && isspace((unsigned char)text[length - 1]))
		text[--length] = '\0';
	return text;
}

/* A backslash at the end of a line stands for a space and the next line. */
static bool continues(char *line)
{
	size_t length = strcspn(line, "\n");

	line[length] = '\0';
	if (!length || line[length - 1] != '\\')
		return false;
	line[length - 1] = ' ';
	return true;
}

static int join(char **whole, const char *line)
{
	char *joined;

	if (asprintf(&joined, "%s%s", *whole ?: "", line) < 0)
		return -ENOMEM;
	free(*whole);
	*whole = joined;
	return 0;
}

/* Comments and empty lines are nobody's. */
static void tell_line(unsigned number, char *line, bool whole, config_file_line handler, void *userdata)
{
	char *text = config_file_strip(line);

	if (!whole)
		handler(number, NULL, userdata);
	else if (*text && *text != '#' && *text != ';')
		handler(number, text, userdata);
}

int config_file_lines(FILE *file, config_file_line handler, void *userdata)
{
	_cleanup_free_ char *line = NULL, *whole = NULL;
	unsigned number = 0, first = 0;
	bool texts = true;
	ssize_t length;
	size_t size = 0;

	while ((length = getline(&line, &size, file)) >= 0) {
		bool text = strlen(line) == (size_t)length, more = continues(line);

		number++;
		texts = whole ? texts && text : text;
		if (!whole)
			first = number;
		if (join(&whole, line) < 0)
			return -ENOMEM;
		if (more)
			continue;
		tell_line(first, whole, texts, handler, userdata);
		free(TAKE(whole));
	}
	if (whole)
		tell_line(first, whole, texts, handler, userdata);
	return ferror(file) ? -EIO : 0;
}

/* Returns NULL, or why the content of the file must not be trusted. */
static const char *distrust(const struct stat *status, enum config_use use)
{
	if (!S_ISREG(status->st_mode))
		return "it is no regular file";
	if (use == CONFIG_DECIDES && status->st_uid && status->st_uid != geteuid())
		return "it belongs neither to root nor to the daemon's user";
	if (use == CONFIG_DECIDES && status->st_mode & OTHERS_WRITE)
		return "others than its owner may write it";
	return status->st_size > CONFIG_FILE_MAX ? "it is larger than 64 KiB" : NULL;
}

/*
 * A file that decides may do so for root, hence distrust(). O_NONBLOCK, as opening a FIFO would wait for a writer.
 */
int config_file_open(int folder, const char *path, enum config_use use, bool follow, FILE **ret, const char **why)
{
	int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW);
	_cleanup_close_ int fd = openat(folder, path, flags);
	struct stat status;

	if (fd < 0 && errno == ELOOP && !follow)
		*why = "it is a symbolic link";
	if (fd < 0 || fstat(fd, &status) < 0)
		return -errno;
	if (S_ISDIR(status.st_mode))
		return -EISDIR;
	*why = distrust(&status, use);
	if (*why)
		return -EPERM;
	*ret = fdopen(fd, "r");
	if (!*ret)
		return -ENOMEM;
	take_fd(&fd);
	return 0;
}
