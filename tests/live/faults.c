// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Preloaded into a daemon: a disk that fails or does not answer, and a wall clock that jumps, for
 * machines that have no device mapper. What is to happen stands in the file that IOTR_FAULTS names,
 * and is looked up at each call:
 *
 *   fail NUMBER PREFIX    writing below PREFIX fails with that error number
 *   stall PREFIX          writing below PREFIX, opening it by path or looking at it does not return while the
 *                         line stands there
 *   slow RATE PREFIX      writing below PREFIX takes a second for so many bytes
 *   made PREFIX           making a folder below PREFIX does not return, once it is made
 *   clock SECONDS         CLOCK_REALTIME is so far ahead
 *
 * The first word of what was done, and the path that it was done to, are added to the file of that name with .told.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static FILE *open_orders(void)
{
	const char *path = getenv("IOTR_FAULTS");

	return path ? fopen(path, "re") : NULL;
}

static void tell(const char *what, const char *path)
{
	char told[PATH_MAX], line[PATH_MAX + 16];
	int fd;

	snprintf(told, sizeof(told), "%s.told", getenv("IOTR_FAULTS"));
	snprintf(line, sizeof(line), "%s %s\n", what, path);
	fd = REAL(open)(told, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	if (REAL(write)(fd, line, strlen(line)) < 0)
		perror(told);
	close(fd);
}

static int below(const char *path, const char *prefix)
{
	return !strncmp(path, prefix, strlen(prefix));
}

/* The error number, or 0; -1: to wait. */
static int order_for(const char *path)
{
	char line[PATH_MAX + 64], prefix[PATH_MAX];
	FILE *orders = open_orders();
	int number, result = 0;

	while (orders && !result && fgets(line, sizeof(line), orders)) {
		if (sscanf(line, "fail %d %4095s", &number, prefix) == 2 && below(path, prefix))
			result = number;
		else if (sscanf(line, "stall %4095s", prefix) == 1 && below(path, prefix))
			result = -1;
	}
	if (orders)
		fclose(orders);
	return result;
}

static int is_held(const char *path)
{
	char line[PATH_MAX + 64], prefix[PATH_MAX];
	FILE *orders = open_orders();
	int held = 0;

	while (orders && !held && fgets(line, sizeof(line), orders))
		held = sscanf(line, "made %4095s", prefix) == 1 && below(path, prefix);
	if (orders)
		fclose(orders);
	return held;
}

/* Waits as long as it is to. What is to happen then. */
static int order_await(const char *path)
{
	const struct timespec moment = { .tv_nsec = 20000000 };
	int order = order_for(path);

	if (order < 0)
		tell("stall", path);
	for (; order < 0; order = order_for(path))
		nanosleep(&moment, NULL);
	return order;
}

/* 0: it cannot be told. */
static int path_of(int fd, char path[PATH_MAX])
{
	char link[64];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, PATH_MAX - 1);
	if (length >= 0)
		path[length] = '\0';
	return length >= 0;
}

/* Whether the call on this file is to fail; errno is set then. */
static int fails(int fd)
{
	char path[PATH_MAX];
	int order;

	if (!path_of(fd, path))
		return 0;
	order = order_await(path);
	if (order)
		tell("fail", path);
	if (order)
		errno = order;
	return order;
}

/* Bytes a second that a disk takes; 0: no order says so. */
static unsigned long rate_of(const char *path)
{
	char line[PATH_MAX + 64], prefix[PATH_MAX];
	unsigned long rate, result = 0;
	FILE *orders = open_orders();

	while (orders && !result && fgets(line, sizeof(line), orders))
		if (sscanf(line, "slow %lu %4095s", &rate, prefix) == 2 && below(path, prefix))
			result = rate;
	if (orders)
		fclose(orders);
	return result;
}

/* The time that a slow disk takes for what was written. */
static ssize_t take_time(int fd, ssize_t written)
{
	char path[PATH_MAX];
	unsigned long rate = written > 0 && path_of(fd, path) ? rate_of(path) : 0;
	struct timespec left;

	if (!rate)
		return written;
	left.tv_sec = (time_t)((unsigned long)written / rate);
	left.tv_nsec = (long)((unsigned long)written % rate * 1e9 / (double)rate);
	nanosleep(&left, NULL);
	return written;
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
	return fails(fd) ? -1 : take_time(fd, REAL(pwrite)(fd, data, size, offset));
}

ssize_t write(int fd, const void *data, size_t size)
{
	return fails(fd) ? -1 : REAL(write)(fd, data, size);
}

int ftruncate(int fd, off_t size)
{
	return fails(fd) ? -1 : REAL(ftruncate)(fd, size);
}

int renameat(int from_fd, const char *from, int to_fd, const char *to)
{
	return fails(from_fd) ? -1 : REAL(renameat)(from_fd, from, to_fd, to);
}

/* The argument behind flags, which is there when they say so. */
#define TAKE_MODE(flags)                                                                        \
	({                                                                                      \
		mode_t mode_ = 0;                                                               \
		va_list arguments_;                                                             \
		va_start(arguments_, flags);                                                    \
		if ((flags) & O_CREAT)                                                            \
			mode_ = va_arg(arguments_, mode_t);                                     \
		va_end(arguments_);                                                             \
		mode_;                                                                          \
	})

int open(const char *path, int flags, ...)
{
	mode_t mode = TAKE_MODE(flags);

	order_await(path);
	return REAL(open)(path, flags, mode);
}

int openat(int folder_fd, const char *path, int flags, ...)
{
	mode_t mode = TAKE_MODE(flags);

	if (flags & O_CREAT && fails(folder_fd))
		return -1;
	return REAL(openat)(folder_fd, path, flags, mode);
}

int statx(int folder_fd, const char *restrict path, int flags, unsigned int mask, struct statx *restrict status)
{
	if (*path == '/')
		order_await(path);
	return REAL(statx)(folder_fd, path, flags, mask, status);
}

int mkdirat(int folder_fd, const char *name, mode_t mode)
{
	const struct timespec moment = { .tv_nsec = 20000000 };
	char path[PATH_MAX];
	int result;

	if (!path_of(folder_fd, path))
		return REAL(mkdirat)(folder_fd, name, mode);
	snprintf(path + strlen(path), sizeof(path) - strlen(path), "/%s", name);
	order_await(path);
	result = REAL(mkdirat)(folder_fd, name, mode);
	if (!result && is_held(path))
		tell("made", path);
	while (!result && is_held(path))
		nanosleep(&moment, NULL);
	return result;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	int result = REAL(clock_gettime)(clock, now);
	char line[PATH_MAX + 64];
	FILE *orders = clock == CLOCK_REALTIME ? open_orders() : NULL;
	long seconds;

	while (orders && fgets(line, sizeof(line), orders))
		if (sscanf(line, "clock %ld", &seconds) == 1)
			now->tv_sec += seconds;
	if (orders)
		fclose(orders);
	return result;
}
