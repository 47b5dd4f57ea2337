// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * iotr-family PATH COUNT: a process with COUNT children, each of which waits for a line on standard input and then reads
 * as many bytes of PATH as its number says, from 1. Every fourth has a child of its own, born by another of its threads,
 * whose number is greater by COUNT, and ends only after that. Prints its PID as soon as it begins, and "ready" when all
 * of them wait.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *path;
static int gate[2], told[2]; /* what they wait for, and how they say that they do */
static int count;

static void die(const char *what)
{
	perror(what);
	_exit(1);
}

static pid_t born(void)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	return pid;
}

static void await_children(int number)
{
	int status;

	for (; number; number--)
		if (wait(&status) < 0 || status)
			die("wait");
}

static _Noreturn void work(int number, int children)
{
	char space[4096];
	int fd;

	close(gate[1]);
	fd = open(path, O_RDONLY);
	if (fd < 0 || write(told[1], "x", 1) != 1 || read(gate[0], space, 1) != 0 || pread(fd, space, (size_t)number, 0) < 0)
		die(path);
	await_children(children);
	_exit(0);
}

static void *grow(void *number)
{
	if (!born())
		work(*(int *)number + count, 0);
	return NULL;
}

static _Noreturn void child(int number)
{
	bool parent = number % 4 == 0;
	pthread_t grower;

	if (parent && (pthread_create(&grower, NULL, grow, &number) || pthread_join(grower, NULL)))
		die("thread");
	work(number, parent);
}

int main(int argc, char **argv)
{
	char byte;

	if (argc != 3 || (count = atoi(argv[2])) < 1 || count > 2000)
		return 2;
	path = argv[1];
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("%d\n", getpid());
	if (pipe(gate) || pipe(told))
		die("pipe");
	for (int number = 1; number <= count; number++)
		if (!born())
			child(number);
	for (int i = 0; i < count + count / 4; i++)
		if (read(told[0], &byte, 1) != 1)
			die("told");
	puts("ready");
	if (getchar() != '\n')
		die("no line");
	close(gate[1]);
	await_children(count);
	return 0;
}
