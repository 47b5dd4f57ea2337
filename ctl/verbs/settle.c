// SPDX-License-Identifier: GPL-2.0-or-later
#include "verbs/settle.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cleanup.h"
#include "output/complain.h"
#include "units.h"

enum { INTERVAL_MS = 10 };

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Undoes the escapes of spaces and the like (\\040) in a path of the kernel's table of mounts. */
static void unescape(char *path)
{
	char *to = path;
	unsigned int code;

	while (*path) {
		if (sscanf(path, "\\%3o", &code) == 1) {
			*to++ = (char)code;
			path += 4;
		} else {
			*to++ = *path++;
		}
	}
	*to = '\0';
}

/* Has the file system of a mount write what is dirty; one that cannot be opened is passed over. */
static void sync_mount(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);

	if (fd >= 0)
		syncfs(fd);
}

/* Does so for all mounts of block devices: those whose source is a path. Ends the process. */
static _Noreturn void sync_all(void)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/self/mounts", "re");
	char line[8192], source[4096], path[4096];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%4095s %4095s", source, path) == 2 && *source == '/') {
			unescape(path);
			sync_mount(path);
		}
	_exit(0);
}

/* What is dirty or being written on the machine, in bytes. */
static uint64_t dirty_bytes(void)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/meminfo", "re");
	unsigned long kilobytes;
	uint64_t bytes = 0;
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "Dirty: %lu", &kilobytes) == 1 || sscanf(line, "Writeback: %lu", &kilobytes) == 1)
			bytes += (uint64_t)kilobytes << 10;
	return bytes;
}

static bool has_ended(pid_t pid)
{
	pid_t ended = waitpid(pid, NULL, WNOHANG);

	return ended == pid || (ended < 0 && errno == ECHILD);
}

/* The process that waits for the disks cannot be interrupted while it does, so it is left alone when the time is over. */
pid_t settle(struct child *child, uint64_t most_ns)
{
	uint64_t until = now_ns() + most_ns;
	bool interrupted = false, ended;
	char left[32], most[32];
	pid_t pid = fork();

	if (!pid)
		sync_all();
	if (pid < 0) {
		complain("What is dirty is written later, and not seen here.", "cannot wait until all is written: %s", strerror(errno));
		return 0;
	}
	while (!(ended = has_ended(pid)) && !interrupted && now_ns() < until)
		interrupted = child_interrupted(child, INTERVAL_MS);
	if (ended)
		return 0;
	kill(pid, SIGKILL);
	complain("Some of it may be the command's; it is written later, and not seen here.",
		 "after %s, %s are still to be written on this machine%s",
		 iotr_format_duration(most, sizeof(most), most_ns - (until > now_ns() ? until - now_ns() : 0)),
		 iotr_format_size(left, sizeof(left), dirty_bytes()), interrupted ? ", when a signal came" : "");
	return pid;
}
