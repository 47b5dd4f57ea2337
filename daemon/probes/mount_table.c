// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/mount_table.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"

/* A line as 36 35 98:0 /root /point rw,noatime shared:1 - ext3 /dev/root rw */
struct mount_line {
	unsigned long long number;
	unsigned int major, minor;
	char point[PATH_MAX]; /* with what is no plain byte as \\NNN */
	char type[64];
};

static bool line_read(const char *text, struct mount_line *line)
{
	const char *rest = strstr(text, " - ");

	return rest && sscanf(rest, " - %63s", line->type) == 1 &&
	       sscanf(text, "%llu %*u %u:%u %*s %4095s", &line->number, &line->major, &line->minor,
		      line->point) == 4;
}

/* The first line that `fits`. -ENOENT. */
static int line_find(bool (*fits)(const struct mount_line *line, const void *what), const void *what,
		     struct mount_line *line)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/self/mountinfo", "re");
	_cleanup_free_ char *text = NULL;
	size_t size = 0;

	if (!file)
		return -errno;
	while (getline(&text, &size, file) > 0)
		if (line_read(text, line) && fits(line, what))
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
	struct mount_line line;
	int r = line_find(has_number, &mount, &line);

	if (r >= 0)
		*ret = line.major << 20 | line.minor;
	return r;
}

int mount_cgroups(char *path, size_t size)
{
	struct mount_line line;
	int r = line_find(has_type, "cgroup2", &line);

	if (r >= 0 && (size_t)snprintf(path, size, "%s", line.point) >= size)
		r = -ENAMETOOLONG;
	return r;
}
