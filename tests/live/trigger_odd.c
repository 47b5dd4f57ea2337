// SPDX-License-Identifier: GPL-2.0-or-later
/* Calls that go wrong, and calls that come many at once. */
#include "trigger.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 16, EACH = 200, FORGERIES = 500 };

static char space[4096];

/* An address that nothing can be read from or written to. */
#define NOWHERE ((void *)8)

static void run_bad_pointers(void)
{
	struct file file = file_make("file", O_RDWR, 4096);

	SYS(SYS_read, file.fd, NOWHERE, 100);
	row("READ");
	row_file(&file);
	row_io(100, 0);
	SYS(SYS_pwrite64, file.fd, NOWHERE, 100, 50);
	row("WRITE");
	row_file(&file);
	row_io(100, 50);
	SYS(SYS_readv, file.fd, NOWHERE, 2);
	row("READ");
	row_file(&file);
	SYS(SYS_openat, AT_FDCWD, NOWHERE, O_RDONLY);
	row("OPEN");
	row_empty("filename");
	SYS(SYS_newfstatat, AT_FDCWD, "file", NOWHERE, 0);
	row("GETATTR");
	row_path("file");
	SYS(SYS_renameat, AT_FDCWD, NOWHERE, AT_FDCWD, NOWHERE);
	row("RENAME");
	SYS(SYS_getdents64, file.fd, NOWHERE, 100);
	row("READDIR");
	row_file(&file);
}

static void expect_unknown(const char *operation, int fd)
{
	row(operation);
	row_empty("filename");
	row_empty("inode");
	row_empty("device");
	row_empty("flags");
	row_number("fd", fd);
}

static void run_bad_descriptors(void)
{
	SYS(SYS_read, -1, space, 100);
	expect_unknown("READ", -1);
	row_number("size", 100);
	SYS(SYS_pread64, 999, space, 100, 200);
	expect_unknown("READ", 999);
	row_io(100, 200);
	SYS(SYS_write, 999, space, 100);
	expect_unknown("WRITE", 999);
	SYS(SYS_close, 999);
	expect_unknown("CLOSE", 999);
	SYS(SYS_fsync, 999);
	expect_unknown("FSYNC", 999);
	SYS(SYS_fstat, 999, space);
	expect_unknown("GETATTR", 999);
	SYS(SYS_ftruncate, 999, 7);
	expect_unknown("TRUNCATE", 999);
	SYS(SYS_openat, 999, "relative", O_RDONLY);
	row("OPEN");
	row_empty("inode");
	SYS(SYS_read, 1 << 30, space, 100);
	expect_unknown("READ", 1 << 30);
}

static void run_vectors(void)
{
	static struct iovec parts[2000];
	struct file file = file_make("file", O_RDWR, 4096);

	for (int i = 0; i < 2000; i++)
		parts[i] = (struct iovec){ space, 2 };
	SYS(SYS_preadv, file.fd, parts, 0, 0, 0);
	row("READ");
	row_file(&file);
	row_io(0, 0);
	SYS(SYS_preadv, file.fd, parts, 1024, 0, 0);
	row("READ");
	row_file(&file);
	row_io(2048, 0);
	SYS(SYS_preadv, file.fd, parts, 2000, 0, 0);
	row("READ");
	row_file(&file);
	SYS(SYS_pwritev, file.fd, parts, -1L, 0, 0);
	row("WRITE");
	row_file(&file);
}

struct worker {
	pthread_t thread;
	pid_t tid;
	uint64_t begin, end;
	int fd, index;
};

static void *work(void *argument)
{
	struct worker *worker = argument;
	char byte[64];

	worker->tid = (pid_t)syscall(SYS_gettid);
	worker->begin = now();
	for (int i = 0; i < EACH; i++)
		if (pread(worker->fd, byte, (size_t)worker->index + 1, i) < 0)
			die("pread");
	worker->end = now();
	return NULL;
}

static void expect_worker(const struct worker *worker, const struct file *file)
{
	window(getpid(), worker->tid, worker->begin, worker->end);
	row("READ");
	row_thread(getpid(), worker->tid);
	row_within(worker->begin, worker->end);
	row_file(file);
	row_number("size", worker->index + 1);
	row_number("bytes_completed", worker->index + 1);
	row_result(worker->index + 1);
	row_times(EACH);
}

static void run_threads(void)
{
	struct file file = file_make("file", O_RDONLY, 4096);
	struct worker workers[THREADS];

	for (int i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){ .fd = file.fd, .index = i };
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			die("pthread_create");
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	for (int i = 0; i < THREADS; i++)
		expect_worker(&workers[i], &file);
}

/* As many as --count says. */
static void run_count(void)
{
	struct file file = file_make("file", O_RDONLY, 4096);

	window_begin();
	for (unsigned long i = 0; i < trigger_count; i++)
		if (pread(file.fd, space, 1, (off_t)(i % 4096)) != 1)
			die("pread");
	window_end(1);
	row("READ");
	row_file(&file);
	row_number("size", 1);
	row_times(trigger_count);
}

struct span {
	uint64_t begin, end;
};

_Noreturn static void child(struct span *span, int fd, const int ends[2])
{
	span->begin = now();
	close(ends[0]);
	close(ends[1]);
	if (pread(fd, space, 10, 20) != 10 || close(fd))
		_exit(1);
	span->end = now();
	_exit(0);
}

/* The first that a new process does: pipes of its parent closed, a file of its parent read. */
static void forked(pid_t (*make)(void))
{
	struct file file = file_make("inherited", O_RDONLY, 100);
	struct span *span = mmap(NULL, sizeof(*span), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int ends[2];
	pid_t pid;

	if (span == MAP_FAILED || pipe(ends))
		die("pipe");
	pid = make();
	if (!pid)
		child(span, file.fd, ends);
	if (waitpid(pid, NULL, 0) != pid)
		die("fork");
	window(pid, pid, span->begin, span->end);
	row("READ");
	row_thread(pid, pid);
	row_within(span->begin, span->end);
	row_file(&file);
	row_io(10, 20);
	row_result(10);
	row_number("bytes_completed", 10);
	row("CLOSE");
	row_thread(pid, pid);
	row_within(span->begin, span->end);
	row_file(&file);
	row_result(0);
}

static void run_forked(void)
{
	forked(fork);
	forked(vfork);
}

/* A path, and a thread that writes another one over it while the call is under way. */
static struct {
	char path[64];
	int round; /* the one under way */
	bool end;
} forgery;

static void *forge(void *argument)
{
	for (int round = 1; !__atomic_load_n(&forgery.end, __ATOMIC_ACQUIRE); round++) {
		while (__atomic_load_n(&forgery.round, __ATOMIC_ACQUIRE) < round)
			if (__atomic_load_n(&forgery.end, __ATOMIC_ACQUIRE))
				return argument;
		for (int i = 0; i < 20 * (round % 100); i++)
			__asm__ volatile("pause");
		memcpy(forgery.path, "forged", 7);
	}
	return argument;
}

/* What was removed was that of before, or the call would have failed. */
static void run_forged(void)
{
	pthread_t thread;
	char real[64];

	for (int i = 0; i < FORGERIES; i++) {
		snprintf(real, sizeof(real), "real%d", i);
		touch(real, 1);
	}
	if (pthread_create(&thread, NULL, forge, NULL))
		die("pthread_create");
	for (int i = 0; i < FORGERIES; i++) {
		snprintf(real, sizeof(real), "real%d", i);
		strcpy(forgery.path, real);
		__atomic_store_n(&forgery.round, i + 1, __ATOMIC_RELEASE);
		SYS(SYS_unlinkat, AT_FDCWD, forgery.path, 0);
		row("UNLINK");
		if (!last.ret)
			row_path(real);
		while (strcmp(forgery.path, "forged"))
			__asm__ volatile("pause" ::: "memory");
	}
	__atomic_store_n(&forgery.end, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
}

const struct trigger odd_triggers[] = {
	{ .name = "forged", .operations = "UNLINK", .run = run_forged },
	{ .name = "bad_pointers",
	  .operations = "READ,WRITE,OPEN,GETATTR,RENAME,READDIR",
	  .run = run_bad_pointers },
	{ .name = "bad_descriptors",
	  .operations = "READ,WRITE,CLOSE,FSYNC,GETATTR,TRUNCATE,OPEN",
	  .run = run_bad_descriptors },
	{ .name = "forked", .operations = "READ,CLOSE", .run = run_forked },
	{ .name = "vectors", .operations = "READ,WRITE", .run = run_vectors },
	{ .name = "threads", .operations = "READ", .run = run_threads },
	{ .name = "count", .operations = "READ", .run = run_count },
	{ 0 },
};
