/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A command whose start is held back until it is released, so that a session can be started for it first. One
 * thread; signals meant for the command are passed on to it.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Exit codes for a command that cannot be run, as shells have them. */
enum { EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };

struct child {
	pid_t pid;
	int release; /* writing releases the child, closing ends it */
	int outcome; /* delivers the error number of an exec that failed */
	int signals; /* readable when the child has ended or a signal has come */
};

#define CHILD_NONE ((struct child){ .pid = -1, .release = -1, .outcome = -1, .signals = -1 })

/*
 * Forks a child that waits. `argv` is the command's. From now on processes that it leaves behind become children of this process,
 * which knows so which of them still run, until it ends.
 */
int child_new(char **argv, struct child *child);
/* Releases the child. Returns 0, or the -errno of its exec; the child has ended then. */
int child_release(struct child *child);
/*
 * Waits until the command ends and returns its exit code in the shell's convention. `watched`, unless it is
 * -1, is a socket; `on_hangup` is called once when its other end is closed.
 */
int child_wait(struct child *child, int watched, void (*on_hangup)(void *userdata), void *userdata);
/*
 * After the command has ended: waits until no process is left that it started, or one of them; until a signal comes, or the
 * other end of the socket is closed.
 */
void child_wait_descendants(struct child *child, int watched);
/* After the command has ended: waits that long for a signal, and returns whether one came. */
bool child_interrupted(struct child *child, int milliseconds);

/* Releases the struct. A child that still waits ends without running its command. */
void child_done(struct child *child);
