// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/pressure.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "tree.h"

static const char *const files[IOTR_PRESSURE_COUNT] = {
	[IOTR_PRESSURE_CPU] = "/proc/pressure/cpu",
	[IOTR_PRESSURE_MEMORY] = "/proc/pressure/memory",
	[IOTR_PRESSURE_IO] = "/proc/pressure/io",
};

static int parse_line(const char *line, const char *name, unsigned int average[3], uint64_t *total)
{
	unsigned int whole[3], part[3];
	char kind[8];

	if (sscanf(line, "%7s avg10=%u.%2u avg60=%u.%2u avg300=%u.%2u total=%" SCNu64, kind, &whole[0], &part[0], &whole[1],
		   &part[1], &whole[2], &part[2], total) != 8 ||
	    strcmp(kind, name) != 0)
		return -EBADMSG;
	for (int i = 0; i < 3; i++)
		average[i] = whole[i] * 100 + part[i];
	return 0;
}

/* On older kernels that of the CPU has no line "full". */
int pressure_parse(const char *text, struct pressure *ret)
{
	const char *second = strchr(text, '\n');
	int r;

	*ret = (struct pressure){ 0 };
	r = parse_line(text, "some", ret->average[0], &ret->total_us[0]);
	if (r >= 0 && second && second[1])
		r = parse_line(second + 1, "full", ret->average[1], &ret->total_us[1]);
	return r;
}

int pressure_read(enum iotr_pressure of, struct pressure *ret)
{
	_cleanup_close_ int fd = tree_open(files[of], O_RDONLY);
	char text[512];
	ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (size < 0)
		return -errno;
	text[size] = '\0';
	return pressure_parse(text, ret);
}
