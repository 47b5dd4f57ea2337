// SPDX-License-Identifier: GPL-2.0-or-later
/* Calls that a signal ends, begins anew, or never lets come back. */
#include "trigger.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static char space[100];
static int fifo = -1;

static struct file fifo_make(void)
{
	if (mkfifo("fifo", 0600))
		die("mkfifo");
	fifo = open("fifo", O_RDWR);
	return file_of(fifo);
}

static void ignore(int signal)
{
	(void)signal;
}

/* The second alarm feeds the reader, whose call has been restarted by then. */
static void feed(int signal)
{
	static int rounds;

	(void)signal;
	if (rounds++ && syscall(SYS_write, fifo, "x", 1) != 1)
		_exit(1);
}

static void alarm_in(void (*handler)(int), int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };
	struct itimerval timer = { .it_value.tv_usec = 100000, .it_interval.tv_usec = 100000 };

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
}

static void alarm_off(void)
{
	struct itimerval timer = { 0 };

	setitimer(ITIMER_REAL, &timer, NULL);
}

static void run_interrupted(void)
{
	struct file file = fifo_make();

	alarm_in(ignore, 0);
	SYS(SYS_read, file.fd, space, 50);
	alarm_off();
	row("READ");
	row_file(&file);
	row_number("size", 50);
}

static void expect_read(const struct file *file, long ret)
{
	row("READ");
	row_file(file);
	row_number("size", 50);
	row_result(ret);
	row_number("bytes_completed", ret > 0 ? ret : 0);
}

/* The program sees one call, the kernel three, and the handler writes in between. */
static void run_restarted(void)
{
	struct file file = fifo_make();

	alarm_in(feed, SA_RESTART);
	SYS(SYS_read, file.fd, space, 50);
	alarm_off();
	expect_read(&file, last.ret);
	row_takes(150000000);
	row("WRITE");
	row_file(&file);
	row_number("size", 1);
}

static void *stop_and_feed(void *fd)
{
	pid_t child = fork();
	int status;

	if (!child) {
		pid_t parent = getppid();

		for (int i = 0; i < 2; i++) {
			poll(NULL, 0, 80);
			kill(parent, SIGSTOP);
			poll(NULL, 0, 20);
			kill(parent, SIGCONT);
		}
		poll(NULL, 0, 20);
		_exit(write(*(int *)fd, "x", 1) != 1);
	}
	return (void *)(long)(waitpid(child, &status, 0) != child || status);
}

/* A process that is stopped and continued, which has no handler, sees nothing of that. */
static void run_stopped(void)
{
	struct file file = fifo_make();
	pthread_t other;
	void *failed;

	if (pthread_create(&other, NULL, stop_and_feed, &file.fd))
		die("pthread_create");
	SYS(SYS_read, file.fd, space, 50);
	if (pthread_join(other, &failed) || failed)
		die("stop");
	expect_read(&file, 1);
	row_takes(150000000);
}

/* Sleeping in the call, as /proc shows it. */
static void wait_asleep(pid_t pid)
{
	char path[64], state = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	for (int i = 0; i < 1000 && state != 'S'; i++) {
		FILE *stat = fopen(path, "re");

		if (stat && fscanf(stat, "%*d (%*[^)]) %c", &state) != 1)
			state = 0;
		if (stat)
			fclose(stat);
		poll(NULL, 0, 10);
	}
}

static void run_killed(void)
{
	struct file file = fifo_make();
	uint64_t begin = now();
	pid_t child = fork();

	if (!child) {
		if (read(file.fd, space, 50) >= 0)
			abort();
		_exit(0);
	}
	wait_asleep(child);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	window(child, child, begin, now());
	row("READ");
	row_thread(child, child);
	row_within(begin, now());
	row_text("filename", file.path);
	row_number("size", 50);
	row_text("return_value", "");
	row_text("errno", "");
}

const struct trigger signal_triggers[] = {
	{ .name = "interrupted", .operations = "READ", .run = run_interrupted },
	{ .name = "restarted", .operations = "READ,WRITE", .run = run_restarted },
	{ .name = "stopped", .operations = "READ", .run = run_stopped },
	{ .name = "killed", .operations = "READ", .run = run_killed },
	{ 0 },
};
