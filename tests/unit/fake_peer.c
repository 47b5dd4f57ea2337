// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A daemon that knows one answer, for figures that no daemon can be made to tell. Usage: fake_peer SOCKET ANSWER; it
 * answers one call of one client, and ends.
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

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
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_STREAM, 0), fd;
	size_t length;

	if (argc != 3)
		return 2;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", argv[1]);
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(listener, 1) < 0)
		return 1;
	fd = accept(listener, NULL, NULL);
	length = strlen(argv[2]) + 1;
	return fd < 0 || await_call(fd) < 0 || write(fd, argv[2], length) != (ssize_t)length;
}
