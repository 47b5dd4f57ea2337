// SPDX-License-Identifier: GPL-2.0-or-later
#include "snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cleanup.h"
#include "clock.h"
#include "helper.h"
#include "log.h"

#define FREE_FD	 16  /* above what the other process is given */
#define KILL_MS	 200 /* for it to be gone after a kill */

struct snapshot {
	sd_event *event;
	sd_event_source *source;
	enum snapshot_kind kind;
	uint32_t number;
	int socket, output_fd, process; /* process: a pidfd */
	snapshot_handler handler;
	void *userdata;
	struct snapshot_state state;
};

static const char *const kind_names[SNAPSHOT_KIND_COUNT] = {
	[SNAPSHOT_SYSTEM] = "system",
	[SNAPSHOT_PROCESS] = "process",
	[SNAPSHOT_FILESYSTEM] = "filesystem",
};

const char *snapshot_kind_name(enum snapshot_kind kind)
{
	return kind_names[kind];
}

int snapshot_kind_find(const char *name)
{
	for (int kind = 0; kind < SNAPSHOT_KIND_COUNT; kind++)
		if (!strcmp(kind_names[kind], name))
			return kind;
	return -ENOENT;
}

/* ---- starting ---- */

/*
 * The path that we were started by, as a process's command name is the last part of it; what is
 * there may be another program by now, and then the kernel's link to ours has to do.
 */
static void find_program(char path[PATH_MAX])
{
	static const char link[] = "/proc/self/exe";
	struct stat ours, theirs;
	ssize_t length = readlink(link, path, PATH_MAX - 1);

	path[length > 0 ? length : 0] = '\0';
	if (length <= 0 || stat(link, &ours) < 0 || stat(path, &theirs) < 0 ||
	    ours.st_ino != theirs.st_ino || ours.st_dev != theirs.st_dev)
		strcpy(path, link);
}

struct spawning {
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
};

static int prepare(struct spawning *spawning, const int fds[3])
{
	sigset_t none;
	int r;

	sigemptyset(&none);
	posix_spawn_file_actions_init(&spawning->actions);
	posix_spawnattr_init(&spawning->attributes);
	r = posix_spawnattr_setflags(&spawning->attributes,
				     POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
	r = r ?: posix_spawnattr_setsigmask(&spawning->attributes, &none);
	for (int i = 0; i < 3 && !r; i++)
		if (fds[i] >= 0)
			r = posix_spawn_file_actions_adddup2(&spawning->actions, fds[i],
							     HELPER_SOCKET + i);
	return -r;
}

static int spawn(const char *program, const int fds[3], int *process)
{
	char *arguments[] = { "iotracerd", SNAPSHOT_HELPER, NULL };
	struct spawning spawning;
	pid_t pid;
	int r = prepare(&spawning, fds);

	if (!r)
		r = -posix_spawn(&pid, program, &spawning.actions, &spawning.attributes, arguments,
				 environ);
	posix_spawn_file_actions_destroy(&spawning.actions);
	posix_spawnattr_destroy(&spawning.attributes);
	if (r < 0)
		return r;
	*process = pidfd_open(pid, 0);
	if (*process >= 0)
		return 0;
	r = -errno;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return r;
}

/* Copies that do not stand where the other process is to find them. */
static int spawn_with(const char *program, int socket, int output_fd, int tasks_fd, int *process)
{
	_cleanup_close_ int a = fcntl(socket, F_DUPFD_CLOEXEC, FREE_FD);
	_cleanup_close_ int b = fcntl(output_fd, F_DUPFD_CLOEXEC, FREE_FD);
	_cleanup_close_ int c = tasks_fd < 0 ? -1 : fcntl(tasks_fd, F_DUPFD_CLOEXEC, FREE_FD);
	char path[PATH_MAX];

	if (a < 0 || b < 0 || (tasks_fd >= 0 && c < 0))
		return -errno;
	if (program)
		snprintf(path, sizeof(path), "%s", program);
	else
		find_program(path);
	return spawn(path, (const int[]){ a, b, c }, process);
}

/* ---- its end ---- */

static int on_gone(sd_event_source *source, int process, uint32_t events, void *userdata)
{
	(void)events, (void)userdata;
	waitid(P_PIDFD, (id_t)process, &(siginfo_t){ 0 }, WEXITED | WNOHANG);
	sd_event_source_disable_unref(source);
	return 0;
}

/* One that hangs in the kernel is waited for by the loop, for as long as that takes. */
static void reap(struct snapshot *snapshot, int milliseconds)
{
	struct pollfd gone = { .fd = snapshot->process, .events = POLLIN };
	sd_event_source *source = NULL;

	if (snapshot->process < 0)
		return;
	if (poll(&gone, 1, milliseconds) > 0) {
		waitid(P_PIDFD, (id_t)snapshot->process, &(siginfo_t){ 0 }, WEXITED | WNOHANG);
	} else if (sd_event_add_io(snapshot->event, &source, snapshot->process, EPOLLIN, on_gone,
				   NULL) >= 0) {
		sd_event_source_set_io_fd_own(source, true);
		snapshot->process = -1;
		return;
	}
	close(take_fd(&snapshot->process));
}

static void died(struct snapshot *snapshot)
{
	snapshot->state.error = -ECONNRESET;
	snapshot->state.ended_ns = snapshot->state.started_ns ?: 1;
	snprintf(snapshot->state.message, sizeof(snapshot->state.message),
		 "the process that took it ended without a word");
	helper_remove_parts(snapshot->output_fd, snapshot->kind, snapshot->number);
}

/* Whether something came: a state, or the end of the other side. */
static bool receive(struct snapshot *snapshot)
{
	struct snapshot_state state;
	ssize_t size = recv(snapshot->socket, &state, sizeof(state), MSG_DONTWAIT);

	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (size == sizeof(state))
		snapshot->state = state;
	else
		died(snapshot);
	if (snapshot->state.ended_ns)
		snapshot->source = sd_event_source_disable_unref(snapshot->source);
	return true;
}

static int on_message(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct snapshot *snapshot = userdata;

	(void)source, (void)fd, (void)events;
	if (receive(snapshot))
		snapshot->handler(&snapshot->state, snapshot->userdata);
	return 0;
}

/* ---- for the daemon ---- */

static int give_order(const struct snapshot *snapshot, const struct snapshot_request *request)
{
	struct helper_order order = { .version = IOTRACER_VERSION, .request = *request };
	ssize_t size = send(snapshot->socket, &order, sizeof(order), MSG_NOSIGNAL | MSG_DONTWAIT);

	explicit_bzero(&order, sizeof(order));
	return size == sizeof(order) ? 0 : size < 0 ? -errno : -EIO;
}

static int start(struct snapshot *snapshot, const char *program,
		 const struct snapshot_request *request, int tasks_fd)
{
	_cleanup_close_ int theirs = -1;
	int pair[2], r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	snapshot->socket = pair[0];
	theirs = pair[1];
	r = give_order(snapshot, request);
	if (r >= 0)
		r = spawn_with(program, theirs, snapshot->output_fd, tasks_fd, &snapshot->process);
	if (r >= 0)
		r = sd_event_add_io(snapshot->event, &snapshot->source, snapshot->socket, EPOLLIN,
				    on_message, snapshot);
	return r;
}

int snapshot_new(sd_event *event, const char *program, const struct snapshot_request *request,
		 int output_fd, int tasks_fd, snapshot_handler handler, void *userdata,
		 struct snapshot **ret)
{
	struct snapshot *snapshot = calloc(1, sizeof(*snapshot));
	int r;

	if (!snapshot)
		return -ENOMEM;
	snapshot->event = sd_event_ref(event);
	snapshot->kind = request->kind;
	snapshot->number = request->number;
	snapshot->handler = handler;
	snapshot->userdata = userdata;
	snapshot->socket = snapshot->process = -1;
	snapshot->output_fd = fcntl(output_fd, F_DUPFD_CLOEXEC, 0);
	r = snapshot->output_fd < 0 ? -errno : start(snapshot, program, request, tasks_fd);
	if (r < 0) {
		snapshot_free(snapshot);
		return r;
	}
	*ret = snapshot;
	return 0;
}

const struct snapshot_state *snapshot_state(const struct snapshot *snapshot)
{
	return &snapshot->state;
}

bool snapshot_wait(struct snapshot *snapshot, unsigned int milliseconds)
{
	uint64_t end_ms = clock_ns(CLOCK_MONOTONIC) / 1000000 + milliseconds, now_ms;

	while (!snapshot->state.ended_ns && (now_ms = clock_ns(CLOCK_MONOTONIC) / 1000000) < end_ms) {
		struct pollfd message = { .fd = snapshot->socket, .events = POLLIN };

		if (poll(&message, 1, (int)(end_ms - now_ms)) > 0)
			receive(snapshot);
	}
	return snapshot->state.ended_ns;
}

void snapshot_free(struct snapshot *snapshot)
{
	if (!snapshot)
		return;
	sd_event_source_disable_unref(snapshot->source);
	if (snapshot->process >= 0 && !snapshot->state.ended_ns) {
		pidfd_send_signal(snapshot->process, SIGKILL, NULL, 0);
		reap(snapshot, KILL_MS);
		helper_remove_parts(snapshot->output_fd, snapshot->kind, snapshot->number);
	} else {
		reap(snapshot, 0);
	}
	closep(&snapshot->socket);
	closep(&snapshot->output_fd);
	sd_event_unref(snapshot->event);
	free(snapshot);
}
