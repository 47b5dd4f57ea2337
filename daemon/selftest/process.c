// SPDX-License-Identifier: GPL-2.0-or-later
#include "selftest/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cleanup.h"
#include "outside.h"
#include "selftest/selftest.h"

static void close_one(int *fd)
{
	closep(fd);
	*fd = -1;
}

static int watch(struct selftest_process *process)
{
	process->pidfd = (int)syscall(SYS_pidfd_open, process->pid, 0);
	return process->pidfd < 0 ? -errno : 0;
}

/* ---- a child ---- */

static int spawn(struct selftest_process *process, const char *folder, int in, int out)
{
	char *const arguments[] = { (char *)"iotracerd", (char *)SELFTEST_OPTION, (char *)folder, NULL };
	char *const environment[] = { NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	int r;

	sigemptyset(&none);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	r = posix_spawn(&process->pid, "/proc/self/exe", &actions, &attributes, arguments, environment);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	if (r) {
		process->pid = 0;
		return -r;
	}
	process->child = true;
	process->uid = getuid();
	return watch(process);
}

/* ---- outside ---- */

/* Whether it has gone already is seen when it should say who it is. */
static int send_descriptors(int outside, const char *folder, int in, int out)
{
	_cleanup_close_ int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const int fds[SELFTEST_DESCRIPTORS] = { [SELFTEST_FOLDER] = fd, [SELFTEST_GO] = in, [SELFTEST_NOTES] = out };
	int r = fd < 0 ? -errno : outside_send(outside, "", 1, fds, SELFTEST_DESCRIPTORS);

	return r == -ECONNRESET ? 0 : r;
}

int selftest_process_meet(struct selftest_process *process)
{
	struct ucred sender = { 0 };
	char byte;
	int r = outside_receive(process->outside, &byte, sizeof(byte), NULL, 0, &sender);

	close_one(&process->outside);
	if (r < 0)
		return r;
	process->pid = sender.pid;
	process->uid = sender.uid;
	return watch(process);
}

/* ---- either ---- */

int selftest_process_start(struct selftest_process *process, const char *folder)
{
	_cleanup_close_ int in = -1, out = -1;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	in = ends[0];
	process->go = ends[1];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	process->notes = ends[0];
	out = ends[1];
	if (fcntl(process->notes, F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	process->outside = outside_connect(SELFTEST_SOCKET);
	return process->outside < 0 ? spawn(process, folder, in, out) : send_descriptors(process->outside, folder, in, out);
}

void selftest_process_stop(struct selftest_process *process)
{
	if (process->pidfd >= 0)
		syscall(SYS_pidfd_send_signal, process->pidfd, SIGKILL, NULL, 0); /* fails if it has ended */
	else if (process->child)
		kill(process->pid, SIGKILL);
	while (process->child && waitpid(process->pid, NULL, 0) < 0 && errno == EINTR)
		;
	process->child = false;
}

void selftest_process_end(struct selftest_process *process)
{
	selftest_process_stop(process);
	close_one(&process->pidfd);
	close_one(&process->go);
	close_one(&process->notes);
	close_one(&process->outside);
}
