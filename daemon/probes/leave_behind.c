// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/leave_behind.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cleanup.h"
#include "fd_store.h"
#include "log.h"
#include "probes/bequest.h"
#include "probes/scope.h"

/*
 * Seconds until the first hook is let go of, which keeps others from attaching theirs meanwhile: a daemon that is started
 * again at once has claimed them by then, or attached its own. Programs that no session wants end after a few instructions.
 */
#define REST_S 10

#define CLAIM_MS 10000

static const char key[] = "hooks";

static int by_value(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void close_between(unsigned int first, unsigned int last)
{
	if (first <= last)
		syscall(SYS_close_range, first, last, 0);
}

/* Waits for the next daemon's claim. Returns whether it has got the descriptors. */
static bool claimed(const int *fds, size_t count, int socket)
{
	struct pollfd claim = { .fd = socket, .events = POLLIN };
	struct bequest_parcel parcel;

	if (poll(&claim, 1, REST_S * 1000) <= 0)
		return false;
	bequest_begin(&parcel, key, socket);
	for (size_t i = 0; i < count; i++)
		bequest_add(&parcel, (uint32_t)i, "", fds[i]);
	return bequest_end(&parcel) >= 0;
}

/* Closes all descriptors but those, which are in ascending order. */
static void close_others(const int *fds, size_t count)
{
	unsigned int from = 0;

	for (size_t i = 0; i < count; i++) {
		close_between(from, (unsigned int)fds[i] - 1);
		from = (unsigned int)fds[i] + 1;
	}
	close_between(from, UINT_MAX);
}

/* The new process, in which nothing but system calls may be used, as the daemon has threads. */
static void become_detach(void)
{
	setsid();
	prctl(PR_SET_NAME, "iotracer-detach");
}

static void rest(const int *fds, size_t count, int socket)
{
	if (claimed(fds, count, socket))
		_exit(0);
	close(socket); /* who comes now is too late, and is told at once */
	for (size_t i = 0; i < count; i++)
		close(fds[i]);
	_exit(0);
}

/* Returns the process, or a negative errno. */
static pid_t begin(const int *fds, size_t count, int socket)
{
	_cleanup_free_ int *all = calloc(count + 1, sizeof(*all));
	pid_t process;
	int r;

	if (!all)
		return -ENOMEM;
	memcpy(all, fds, count * sizeof(*fds));
	all[count] = socket;
	qsort(all, count + 1, sizeof(*all), by_value);
	process = fork();
	if (!process) {
		become_detach();
		close_others(all, count + 1);
		rest(fds, count, socket);
	}
	if (process < 0)
		return -errno;
	r = scope_move(process);
	if (r < 0)
		log_warning("the end of the service waits until the kernel has let go of %zu hooks: %s", count, strerror(-r));
	return process;
}

void leave_behind(const int *fds, size_t count)
{
	int sockets[2], r = bequest_pair(sockets);

	if (r >= 0)
		r = begin(fds, count, sockets[0]);
	if (r >= 0 && fd_store_put(FD_STORE_HOOKS, sockets[1]) < 0)
		fd_store_put(FD_STORE_PROGRAMS, -1); /* their maps are in use until the hooks have gone, of which nobody is told */
	if (r < 0)
		log_warning("the end has to wait until the kernel has let go of %zu hooks: %s", count, strerror(-r));
	closep(&sockets[0]);
	closep(&sockets[1]);
}

int leave_behind_claim(int socket, int **ret, size_t *count)
{
	struct bequest *bequest = NULL;
	int r;

	if (send(socket, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return -errno;
	r = bequest_receive(socket, key, CLAIM_MS, &bequest);
	if (r < 0)
		return r == -ENOENT ? -ETIMEDOUT : r;
	*ret = bequest_take_all(bequest, count);
	bequest_free(bequest);
	return *ret ? 0 : -ENOMEM;
}
