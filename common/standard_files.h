/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/*
 * Takes the numbers of those of stdin, stdout and stderr that the program was started without, so that no file or
 * connection opened later has one of them and gets what is printed. To use what is missing still fails with EBADF, as
 * /dev/null is open the other way round, and programs that are run are without it as well. To be called before anything
 * is opened. Returns 0 or a negative errno.
 */
static inline int hold_standard_files(void)
{
	for (int wanted = STDIN_FILENO; wanted <= STDERR_FILENO; wanted++) {
		if (fcntl(wanted, F_GETFD) >= 0)
			continue;
		/* The lowest number that is free is this one. */
		if (open("/dev/null", (wanted == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC) < 0)
			return -errno;
	}
	return 0;
}
