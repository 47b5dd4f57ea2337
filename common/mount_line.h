/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A line of /proc/PID/mountinfo. Any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct mount_line {
	uint64_t number; /* mount ID */
	uint32_t major, minor;
	/* These point into the line; their bytes are unescaped. */
	const char *point;
	const char *options; /* of the mount, as in rw,noatime, without those of the file system */
	const char *type;
	const char *source; /* may be "" */
};

/* Parses a line in place, with or without its line end. False: it is not a line of such a file. */
bool mount_line_read(char *line, struct mount_line *ret);

/* The device number in the form of rows and BPF programs. */
static inline uint32_t mount_line_device(const struct mount_line *line)
{
	return line->major << 20 | line->minor;
}
