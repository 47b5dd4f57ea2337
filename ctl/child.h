/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A command that waits until it is let go, so that a session can be started for it first. One
 * thread; signals meant for the command are passed on to it.
 */
#pragma once

#include <sys/types.h>

struct child {
	pid_t pid;
	int release; /* writing lets it go, closing ends it */
	int outcome; /* tells the error number of an exec that failed */
	int signals; /* readable when the child ended or a signal came */
};

#define CHILD_NONE ((struct child){ .pid = -1, .release = -1, .outcome = -1, .signals = -1 })

/* Forks; the child waits. argv is the command's. */
int child_new(char **argv, struct child *child);
/* Lets it go. 0, or the -errno of its exec, after which it has ended. */
int child_release(struct child *child);
/* Until the command ends: its exit code as a shell tells it. `watched`, when it is not -1, is a
 * socket; `on_hangup` is called once when its other end is closed. */
int child_wait(struct child *child, int watched, void (*on_hangup)(void *userdata), void *userdata);
/* A child that still waits ends without running its command. */
void child_done(struct child *child);
