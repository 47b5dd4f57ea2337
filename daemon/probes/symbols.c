// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/symbols.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "cleanup.h"
#include "tree.h"

#define SYMBOLS "/proc/kallsyms"

/* By its name and the kind of its file system, as the sandbox has another file at the path. */
static bool is_symbols(void)
{
	char path[PATH_MAX] = "";
	struct statfs about;

	return fstatfs(STDIN_FILENO, &about) == 0 && about.f_type == PROC_SUPER_MAGIC &&
	       readlink("/proc/self/fd/0", path, sizeof(path) - 1) > 0 && !strcmp(path, SYMBOLS);
}

int symbols_open(void)
{
	_cleanup_close_ int nothing = -1;
	int fd;

	if (!is_symbols())
		return tree_open(SYMBOLS, O_RDONLY);
	fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (nothing >= 0)
		dup2(nothing, STDIN_FILENO);
	return fd;
}

struct reading {
	int fd;
	off_t at; /* a place of its own, as several may read */
};

static ssize_t read_on(void *cookie, char *buffer, size_t size)
{
	struct reading *reading = cookie;
	ssize_t got = pread(reading->fd, buffer, size, reading->at);

	if (got > 0)
		reading->at += got;
	return got;
}

static int read_end(void *cookie)
{
	free(cookie);
	return 0;
}

/* The file from its beginning, for the caller to close; NULL: -1, or no memory. */
static FILE *symbols_read(int symbols)
{
	struct reading *reading = symbols < 0 ? NULL : calloc(1, sizeof(*reading));
	FILE *file;

	if (!reading)
		return NULL;
	reading->fd = symbols;
	file = fopencookie(reading, "r", (cookie_io_functions_t){ .read = read_on, .close = read_end });
	if (!file)
		free(reading);
	return file;
}

/*
 * Reads "ffffffff81766530 T iomap_dio_bio_end_io", with a tab and the module's name at the end if any. False: that is a BPF
 * program, which stand behind all that kernel and modules have, and each of which the kernel takes longer to list.
 */
static bool line_take(const char *line, const char *const *names, size_t count, uint64_t *addresses)
{
	const char *type = strchr(line, ' '), *name = type && type[1] ? strchr(type + 1, ' ') : NULL;
	size_t length = name ? strcspn(++name, "\t\n") : 0;

	if (name && !strcmp(name + length, "\t[bpf]\n"))
		return false;
	for (size_t i = 0; i < count && name; i++)
		if (!addresses[i] && strlen(names[i]) == length && !memcmp(name, names[i], length))
			addresses[i] = strtoull(line, NULL, 16);
	return true;
}

void symbols_find(int symbols, const char *const *names, size_t count, uint64_t *addresses)
{
	_cleanup_fclose_ FILE *file = symbols_read(symbols);
	_cleanup_free_ char *line = NULL;
	size_t size = 0;

	while (file && getline(&line, &size, file) > 0 && line_take(line, names, count, addresses))
		;
}
