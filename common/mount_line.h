/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A line of /proc/PID/mountinfo. Any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct mount_line {
	uint64_t number; /* of the mount */
	uint32_t major, minor;
	/* In the line, their bytes as they are. */
	const char *point;
	const char *options; /* of the mount, as in rw,noatime; not those of the file system */
	const char *type;
	const char *source; /* may be "" */
};

/* Takes a line apart, and changes it; a line end may be there. False: it is none of such a file. */
bool mount_line_read(char *line, struct mount_line *ret);

/* As rows and the kernel's programs have it. */
static inline uint32_t mount_line_device(const struct mount_line *line)
{
	return line->major << 20 | line->minor;
}
