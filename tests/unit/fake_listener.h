/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The listening socket of a fake. Whoever sees the path may connect at once. */
#pragma once

#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

/* A descriptor, or -1. */
static inline int listen_at(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s.new", path);
	if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(listener, 1) < 0 ||
	    rename(address.sun_path, path) < 0)
		return -1;
	return listener;
}
