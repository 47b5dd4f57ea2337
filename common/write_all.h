/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <errno.h>
#include <stddef.h>
#include <unistd.h>

/* Writes all bytes. Returns 0 or a negative errno. */
static inline int write_all(int fd, const void *bytes, size_t size)
{
	const char *at = bytes;

	while (size) {
		ssize_t written = write(fd, at, size);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return written < 0 ? -errno : -EIO;
		at += written;
		size -= (size_t)written;
	}
	return 0;
}
