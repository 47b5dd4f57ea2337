// SPDX-License-Identifier: GPL-2.0-or-later
#include "own_client.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cleanup.h"
#include "context.h"
#include "log.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* since Linux 6.5 */
#endif

struct own_client {
	struct engine *engine;
	sd_event_source *end; /* owns the pidfd */
	pid_t process;	      /* 0: it has ended */
};

DEFINE_CLEANUP(struct own_client *, own_client_free);

/* ---- the executable ---- */

/* Where iotracectl is, seen from the daemon's folder: as installed, or as built. */
static const char *const beside[] = { "/iotracectl", "/../bin/iotracectl", "/../ctl/iotracectl" };

static bool link_text(const char *path, char text[PATH_MAX])
{
	ssize_t length = readlink(path, text, PATH_MAX - 1);

	if (length <= 0)
		return false;
	text[length] = '\0';
	return true;
}

/*
 * The path comes first, which the kernel tells without the file system: that of a stranger's program may never answer. Nor is
 * it asked about the file (AT_STATX_DONT_SYNC), which the daemon's own is the same as.
 */
static bool is_program(const char *running, const char *ours)
{
	_cleanup_free_ char *real = realpath(ours, NULL);
	char text[PATH_MAX];
	struct statx runs, is;

	if (!real || !link_text(running, text) || strcmp(text, real))
		return false;
	if (statx(AT_FDCWD, real, 0, STATX_INO, &is) < 0 ||
	    statx(AT_FDCWD, running, AT_STATX_DONT_SYNC, STATX_INO, &runs) < 0)
		return false;
	return is.stx_ino == runs.stx_ino && is.stx_dev_major == runs.stx_dev_major && is.stx_dev_minor == runs.stx_dev_minor;
}

static bool is_ours(pid_t process)
{
	char running[32], folder[PATH_MAX], path[PATH_MAX + 32], *slash;

	snprintf(running, sizeof(running), "/proc/%d/exe", process);
	if (!link_text("/proc/self/exe", folder) || !(slash = strrchr(folder, '/')))
		return false;
	*slash = '\0';
	for (size_t i = 0; i < sizeof(beside) / sizeof(beside[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", folder, beside[i]);
		if (is_program(running, path))
			return true;
	}
	return false;
}

/* ---- the process ---- */

static pid_t process_of(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 ? 0 : peer.pid;
}

/* Where the kernel does not keep the process itself, another one may have the number by now: that is looked at as well as he. */
static int pidfd_of(int fd, pid_t process)
{
	int pidfd = -1;
	socklen_t size = sizeof(pidfd);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size) == 0)
		return pidfd;
	return errno == ENOPROTOOPT ? (int)syscall(SYS_pidfd_open, process, 0) : -1;
}

/* As long as it runs its number is no other's. */
static bool runs(int pidfd)
{
	struct pollfd end = { .fd = pidfd, .events = POLLIN };

	return poll(&end, 1, 0) == 0;
}

static void leave_out_no_more(struct own_client *client)
{
	if (client->process)
		engine_own(client->engine, client->process, false);
	client->process = 0;
}

/* Its number may be another's soon, also when a child keeps the connection. */
static int on_end(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	(void)fd, (void)events;
	leave_out_no_more(userdata);
	return sd_event_source_set_enabled(source, SD_EVENT_OFF);
}

static int watch(struct own_client *client, sd_event *event, int pidfd)
{
	int r = sd_event_add_io(event, &client->end, pidfd, EPOLLIN, on_end, client);

	if (r >= 0)
		r = sd_event_source_set_io_fd_own(client->end, true);
	/* Before the calls of clients, so that the number is free early. */
	return r < 0 ? r : sd_event_source_set_priority(client->end, SD_EVENT_PRIORITY_IMPORTANT);
}

struct own_client *own_client_new(struct control *control, int fd)
{
	pid_t process = process_of(fd);
	_cleanup_close_ int pidfd = process > 0 ? pidfd_of(fd, process) : -1;
	_cleanup_(own_client_freep) struct own_client *client = NULL;

	if (pidfd < 0 || !is_ours(process) || !runs(pidfd))
		return NULL;
	client = calloc(1, sizeof(*client));
	if (!client || watch(client, control->event, pidfd) < 0) {
		log_debug("process %d is iotracectl, but sessions record what it does: its end cannot be watched", process);
		return NULL;
	}
	take_fd(&pidfd);
	client->engine = control->engine;
	client->process = process;
	engine_own(client->engine, process, true);
	return TAKE(client);
}

void own_client_free(struct own_client *client)
{
	if (!client)
		return;
	leave_out_no_more(client);
	sd_event_source_disable_unref(client->end);
	free(client);
}
