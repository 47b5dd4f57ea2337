// SPDX-License-Identifier: GPL-2.0-or-later
#include "snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
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
#include "remains.h"

#define FREE_FD	    16 /* above the descriptors that the helper is given */
#define SPAWN_STACK 65536 /* bytes of the helper's stack until its execve() */

struct snapshot {
	sd_event *event;
	sd_event_source *source;
	enum snapshot_kind kind;
	uint32_t number;
	struct rights writes;
	int socket, output_fd, process; /* process: a pidfd */
	pid_t pid;
	snapshot_handler handler;
	void *userdata;
	struct snapshot_state state;
};

static struct {
	snapshot_watcher tell;
	void *userdata;
} watcher;

static const char *const kind_names[SNAPSHOT_KIND_COUNT] = {
	[SNAPSHOT_SYSTEM] = "system",
	[SNAPSHOT_PROCESS] = "process",
	[SNAPSHOT_FILESYSTEM] = "filesystem",
};

void snapshot_watch(snapshot_watcher tell, void *userdata)
{
	watcher.tell = tell;
	watcher.userdata = userdata;
}

static void watcher_tell(pid_t process, bool begins)
{
	if (watcher.tell)
		watcher.tell(process, begins, watcher.userdata);
}

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
 * The path of our program by which we were started, as the last part of it becomes the command name
 * of the helper. Where another program is there by now, it is /proc/self/exe.
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

/* What the helper needs until its execve(). */
struct spawning {
	const char *program;
	const int *fds;
	int error; /* why execve() failed; 0: it did not */
};

/*
 * The helper until its execve(): in our memory and with our thread waiting, as after vfork(2). The watcher is
 * called before the helper does anything that could be recorded. All signals are blocked until it has handlers
 * of its own.
 */
static int become_helper(void *userdata)
{
	char *arguments[] = { "iotracerd", SNAPSHOT_HELPER, NULL };
	struct spawning *spawning = userdata;
	sigset_t none;

	watcher_tell(getpid(), true);
	sigemptyset(&none);
	setpgid(0, 0);
	for (int i = 0; i < 3; i++)
		if (spawning->fds[i] >= 0 && dup2(spawning->fds[i], HELPER_SOCKET + i) < 0)
			goto failed;
	sigprocmask(SIG_SETMASK, &none, NULL);
	execve(spawning->program, arguments, environ);
failed:
	spawning->error = errno;
	_exit(EXIT_FAILURE);
}

static int spawn(struct snapshot *snapshot, const char *program, const int fds[3])
{
	/* Only one thread starts snapshots, and it waits */
	static char stack[SPAWN_STACK] __attribute__((aligned(16)));
	struct spawning spawning = { .program = program, .fds = fds };
	sigset_t all, before;
	int r;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	snapshot->pid = clone(become_helper, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, &spawning);
	r = snapshot->pid < 0 ? -errno : -spawning.error;
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (snapshot->pid < 0)
		return r;
	snapshot->process = r < 0 ? r : pidfd_open(snapshot->pid, 0);
	if (snapshot->process >= 0)
		return 0;
	r = r ?: -errno;
	kill(snapshot->pid, SIGKILL);
	waitpid(snapshot->pid, NULL, 0);
	watcher_tell(snapshot->pid, false);
	return r;
}

/* Starts the helper with copies of the descriptors, at numbers other than those that it expects them at. */
static int spawn_with(struct snapshot *snapshot, const char *program, int socket, int tasks_fd)
{
	_cleanup_close_ int a = fcntl(socket, F_DUPFD_CLOEXEC, FREE_FD);
	_cleanup_close_ int b = fcntl(snapshot->output_fd, F_DUPFD_CLOEXEC, FREE_FD);
	_cleanup_close_ int c = tasks_fd < 0 ? -1 : fcntl(tasks_fd, F_DUPFD_CLOEXEC, FREE_FD);
	char path[PATH_MAX];

	if (a < 0 || b < 0 || (tasks_fd >= 0 && c < 0))
		return -errno;
	if (program)
		snprintf(path, sizeof(path), "%s", program);
	else
		find_program(path);
	return spawn(snapshot, path, (const int[]){ a, b, c });
}

/* ---- its end ---- */

/* The helper has ended; its pid may be another process's from now on. */
static void process_gone(int process, pid_t pid)
{
	watcher_tell(pid, false);
	waitid(P_PIDFD, (id_t)process, &(siginfo_t){ 0 }, WEXITED | WNOHANG);
}

static int on_gone(sd_event_source *source, int process, uint32_t events, void *userdata)
{
	(void)events;
	process_gone(process, (pid_t)(intptr_t)userdata);
	sd_event_source_disable_unref(source); /* the loop's own */
	return 0;
}

/* Reaps the helper. One that hangs in the kernel is waited for by the event loop, for as long as that takes or the loop is there. */
static void reap(struct snapshot *snapshot)
{
	struct pollfd gone = { .fd = snapshot->process, .events = POLLIN };
	sd_event_source *source = NULL;

	if (snapshot->process < 0)
		return;
	if (poll(&gone, 1, 0) > 0) {
		process_gone(snapshot->process, snapshot->pid);
	} else if (sd_event_add_io(snapshot->event, &source, snapshot->process, EPOLLIN, on_gone,
				   (void *)(intptr_t)snapshot->pid) >= 0) {
		sd_event_source_set_io_fd_own(source, true);
		sd_event_source_set_floating(source, true);
		sd_event_source_unref(source);
		snapshot->process = -1;
		return;
	}
	close(take_fd(&snapshot->process));
}

/* Removes the unfinished files of a helper that has ended, or is about to. */
static void remove_parts(const struct snapshot *snapshot)
{
	const struct remains remains = {
		.kind = snapshot->kind,
		.number = snapshot->number,
		.writes = snapshot->writes,
		.output_fd = snapshot->output_fd,
		.process = snapshot->process,
	};

	if (!remains_remove(&remains))
		log_warning("files of an unfinished %s snapshot cannot be removed", kind_names[snapshot->kind]);
}

static void died(struct snapshot *snapshot)
{
	snapshot->state.error = -ECONNRESET;
	snapshot->state.ended_ns = snapshot->state.started_ns ?: 1;
	snprintf(snapshot->state.message, sizeof(snapshot->state.message),
		 "the process that took it ended without a result");
	remove_parts(snapshot);
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
	r = spawn_with(snapshot, program, theirs, tasks_fd);
	if (r >= 0)
		r = give_order(snapshot, request);
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
	snapshot->writes = request->writes;
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
		remove_parts(snapshot);
	}
	reap(snapshot);
	closep(&snapshot->socket);
	closep(&snapshot->output_fd);
	sd_event_unref(snapshot->event);
	free(snapshot);
}
