// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A daemon that knows one answer, for figures that no daemon can be made to tell. Usage: fake_peer SOCKET ANSWER; it
 * answers one call of one client, and ends.
 */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fake_listener.h"

/* Reads a call, whose end is a NUL. */
static int await_call(int fd)
{
	char byte = 'x';

	while (byte)
		if (read(fd, &byte, 1) != 1)
			return -1;
	return 0;
}

int main(int argc, char **argv)
{
	int listener, fd;
	size_t length;

	if (argc != 3)
		return 2;
	listener = listen_at(argv[1]);
	fd = accept(listener, NULL, NULL);
	length = strlen(argv[2]) + 1;
	return fd < 0 || await_call(fd) < 0 || write(fd, argv[2], length) != (ssize_t)length;
}
