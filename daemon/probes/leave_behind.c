// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/leave_behind.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cleanup.h"
#include "log.h"
#include "probes/mount_table.h"

/*
 * Seconds until the first hook is let go of, which keeps others from attaching theirs meanwhile: a daemon that is started
 * again at once has its own by then. Programs that no session wants end after a few instructions.
 */
#define REST_S 10

static int by_value(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* The list of processes of the topmost cgroup; -1: it cannot be opened. */
static int topmost_open(void)
{
	char root[PATH_MAX], path[PATH_MAX + sizeof("/cgroup.procs")];

	if (mount_cgroups(root, sizeof(root)) < 0)
		return -1;
	snprintf(path, sizeof(path), "%s/cgroup.procs", root);
	return open(path, O_WRONLY | O_CLOEXEC);
}

static void close_between(unsigned int first, unsigned int last)
{
	if (first <= last)
		syscall(SYS_close_range, first, last, 0);
}

/* The new process, in which nothing but system calls may be used, as the daemon has threads. */
static void close_all(const int *fds, size_t count, int topmost)
{
	unsigned int from = 0;

	setsid();
	prctl(PR_SET_NAME, "iotracer-detach");
	if (topmost >= 0 && write(topmost, "0", 1) < 0)
		errno = 0; /* then the service's end waits for it */
	for (size_t i = 0; i < count; i++) {
		close_between(from, (unsigned int)fds[i] - 1);
		from = (unsigned int)fds[i] + 1;
	}
	close_between(from, UINT_MAX);
	sleep(REST_S);
	for (size_t i = 0; i < count; i++)
		close(fds[i]);
	_exit(0);
}

void leave_behind(int *fds, size_t count)
{
	_cleanup_close_ int topmost = topmost_open();
	pid_t process;

	qsort(fds, count, sizeof(*fds), by_value);
	process = fork();
	if (!process)
		close_all(fds, count, topmost);
	if (process < 0)
		log_warning("the end has to wait until the kernel has let go of %zu hooks: %s", count, strerror(errno));
}
