/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What systemd does for a socket unit of outside.h. */
#pragma once

#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "outside.h"

/* Listens in the folder. Returns the socket. */
static inline int stand_at(const char *folder, const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	ck_assert_int_lt(snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", folder, name),
			 (int)sizeof(address.sun_path));
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(listen(fd, 1), 0);
	return fd;
}

/* For one connection, starts a process with it as standard input, and has the program know of the folder. Returns the process. */
static inline pid_t stand_outside(const char *folder, const char *name, int (*process)(void))
{
	int fd = stand_at(folder, name);
	pid_t child;

	setenv(OUTSIDE_FOLDER, folder, true);
	child = fork();

	if (!child) {
		dup2(accept(fd, NULL, NULL), STDIN_FILENO);
		_exit(process());
	}
	close(fd);
	return child;
}

/* Its exit status, as waitpid() has it. */
static inline int stood_outside(pid_t child)
{
	int status = -1;

	ck_assert_int_eq(waitpid(child, &status, 0), child);
	return status;
}
