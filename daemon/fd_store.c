// SPDX-License-Identifier: GPL-2.0-or-later
#include "fd_store.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "cleanup.h"

static const char *const names[FD_STORE_COUNT] = {
	[FD_STORE_PROGRAMS] = "iotracer-programs",
	[FD_STORE_HOOKS] = "iotracer-hooks",
};

static enum fd_store find(const char *name)
{
	enum fd_store found = 0;

	while (found < FD_STORE_COUNT && strcmp(names[found], name))
		found++;
	return found;
}

static void sort(struct fd_store_passed *passed, int fd, const char *name)
{
	enum fd_store stored = find(name);

	if (stored == FD_STORE_COUNT) {
		passed->sockets[passed->socket_count++] = fd;
		return;
	}
	closep(&passed->stored[stored]);
	passed->stored[stored] = fd;
}

static void names_free(char ***list)
{
	for (size_t i = 0; *list && (*list)[i]; i++)
		free((*list)[i]);
	free(*list);
}

int fd_store_receive(struct fd_store_passed *ret)
{
	_cleanup_(names_free) char **list = NULL;
	int count = sd_listen_fds_with_names(true, &list);

	*ret = (struct fd_store_passed){ 0 };
	for (size_t i = 0; i < FD_STORE_COUNT; i++)
		ret->stored[i] = -1;
	if (count <= 0)
		return count;
	ret->sockets = calloc((size_t)count, sizeof(*ret->sockets));
	if (!ret->sockets)
		return -ENOMEM;
	for (int i = 0; i < count; i++)
		sort(ret, SD_LISTEN_FDS_START + i, list[i]);
	return 0;
}

void fd_store_done(struct fd_store_passed *passed)
{
	for (size_t i = 0; i < FD_STORE_COUNT; i++)
		closep(&passed->stored[i]);
	for (size_t i = 0; i < passed->socket_count; i++)
		close(passed->sockets[i]);
	free(passed->sockets);
}

int fd_store_put(enum fd_store name, int fd)
{
	char state[128];

	snprintf(state, sizeof(state), "FDSTOREREMOVE=1\nFDNAME=%s", names[name]);
	sd_notify(false, state);
	if (fd < 0)
		return 0;
	/* It would let go of a descriptor that polls as hung up, as sockets may without their other end. */
	snprintf(state, sizeof(state), "FDSTORE=1\nFDPOLL=0\nFDNAME=%s", names[name]);
	return sd_pid_notify_with_fds(0, false, state, &fd, 1);
}
