// SPDX-License-Identifier: GPL-2.0-or-later
#include "verbs/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cleanup.h"

enum { EXIT_SIGNAL_BASE = 128 };

static const int caught[] = { SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT };

static void set_of_caught(sigset_t *set)
{
	sigemptyset(set);
	for (size_t i = 0; i < sizeof(caught) / sizeof(caught[0]); i++)
		sigaddset(set, caught[i]);
}

/* Runs in the child and never returns. */
static void run_command(char **argv, int release, int outcome, const sigset_t *mask)
{
	int error;
	char go;

	sigprocmask(SIG_SETMASK, mask, NULL);
	if (read(release, &go, 1) != 1)
		_exit(EXIT_FAILURE); /* it was not released, so it must not run */
	execvp(argv[0], argv);
	error = errno;
	if (write(outcome, &error, sizeof(error)) < 0)
		_exit(EXIT_FAILURE);
	_exit(EXIT_FAILURE);
}

int child_new(char **argv, struct child *child)
{
	int release[2] = { -1, -1 }, outcome[2] = { -1, -1 };
	sigset_t signals, before;

	set_of_caught(&signals);
	sigprocmask(SIG_BLOCK, &signals, &before);
	child->signals = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (child->signals < 0 || pipe2(release, O_CLOEXEC) < 0)
		return -errno;
	child->release = release[1];
	if (pipe2(outcome, O_CLOEXEC) < 0) {
		int r = -errno;

		close(release[0]);
		return r;
	}
	child->outcome = outcome[0];

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	child->pid = fork();
	if (child->pid == 0) {
		close(release[1]);
		run_command(argv, release[0], outcome[1], &before);
	}
	close(release[0]);
	close(outcome[1]);
	return child->pid < 0 ? -errno : 0;
}

int child_release(struct child *child)
{
	int error = 0;
	ssize_t n;

	if (write(child->release, "g", 1) < 0)
		return -errno;
	do /* a successful exec closes the child's end of the pipe */
		n = read(child->outcome, &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	return n == sizeof(error) ? -error : 0;
}

/* Takes note of all that have ended: processes that the command left behind are children of this process. */
static bool has_ended(struct child *child, int *code)
{
	int status;
	pid_t ended;

	while ((ended = waitpid(-1, &status, WNOHANG)) > 0) {
		if (ended != child->pid)
			continue;
		child->pid = -1;
		*code = WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_SIGNAL_BASE + WTERMSIG(status);
	}
	return child->pid < 0;
}

/*
 * A terminal sends its signals to the whole foreground process group, which includes the command; only signals
 * sent to this process alone are passed on.
 */
static void pass_signals(struct child *child)
{
	struct signalfd_siginfo info;

	while (read(child->signals, &info, sizeof(info)) == sizeof(info))
		if (info.ssi_signo != SIGCHLD && info.ssi_code <= 0)
			kill(child->pid, (int)info.ssi_signo);
}

int child_wait(struct child *child, int watched, void (*on_hangup)(void *userdata), void *userdata)
{
	struct pollfd fds[] = {
		{ .fd = child->signals, .events = POLLIN },
		{ .fd = watched, .events = POLLRDHUP },
	};
	int code = 0;

	while (!has_ended(child, &code)) {
		if (poll(fds, 2, -1) < 0)
			continue;
		if (fds[1].revents) {
			on_hangup(userdata);
			fds[1].fd = -1;
		}
		pass_signals(child);
	}
	return code;
}

/* Whether a child of this process is left; those that have ended are taken note of. */
static bool any_left(void)
{
	pid_t ended;

	while ((ended = waitpid(-1, NULL, WNOHANG)) > 0)
		;
	return !ended;
}

void child_wait_descendants(struct child *child, int watched)
{
	struct pollfd fds[] = {
		{ .fd = child->signals, .events = POLLIN },
		{ .fd = watched, .events = POLLRDHUP },
	};

	while (any_left())
		if (poll(fds, 2, -1) > 0 && (fds[1].revents || child_interrupted(child, 0)))
			return;
}

bool child_interrupted(struct child *child, int milliseconds)
{
	struct pollfd pollfd = { .fd = child->signals, .events = POLLIN };
	struct signalfd_siginfo info;
	bool came = false;

	if (poll(&pollfd, 1, milliseconds) <= 0)
		return false;
	while (read(child->signals, &info, sizeof(info)) == sizeof(info))
		came |= info.ssi_signo != SIGCHLD;
	return came;
}

void child_done(struct child *child)
{
	closep(&child->release);
	if (child->pid > 0)
		waitpid(child->pid, NULL, 0);
	closep(&child->outcome);
	closep(&child->signals);
}
