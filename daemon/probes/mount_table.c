// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/mount_table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "mount_line.h"

/* The first line that `fits`. `line` points into `*text`, which the caller frees. -ENOENT: there is none. */
static int line_find(bool (*fits)(const struct mount_line *line, const void *what), const void *what,
		     char **text, struct mount_line *line)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/self/mountinfo", "re");
	size_t size = 0;

	if (!file)
		return -errno;
	while (getline(text, &size, file) > 0)
		if (mount_line_read(*text, line) && fits(line, what))
			return 0;
	return -ENOENT;
}

static bool has_number(const struct mount_line *line, const void *what)
{
	return line->number == *(const uint64_t *)what;
}

static bool has_type(const struct mount_line *line, const void *what)
{
	return !strcmp(line->type, what);
}

int mount_device(uint64_t mount, uint32_t *ret)
{
	_cleanup_free_ char *text = NULL;
	struct mount_line line;
	int r = line_find(has_number, &mount, &text, &line);

	if (r >= 0)
		*ret = mount_line_device(&line);
	return r;
}

int mount_cgroups(char *path, size_t size)
{
	_cleanup_free_ char *text = NULL;
	struct mount_line line;
	int r = line_find(has_type, "cgroup2", &text, &line);

	if (r >= 0 && (size_t)snprintf(path, size, "%s", line.point) >= size)
		r = -ENAMETOOLONG;
	return r;
}
