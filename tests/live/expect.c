// SPDX-License-Identifier: GPL-2.0-or-later
/* Windows and expected rows, kept as JSON text until the trigger is done. */
#include "trigger.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char text[16 << 20];
static size_t used;
static bool row_open;
static pthread_mutex_t text_lock = PTHREAD_MUTEX_INITIALIZER;

_Thread_local struct call last;

/* Columns that only some operations fill. */
struct shape {
	const char *operation;
	bool bytes, size, offset;
};

static const struct shape shapes[] = {
	{ "READ", .bytes = true, .size = true, .offset = true },
	{ "WRITE", .bytes = true, .size = true, .offset = true },
	{ "DIO_READ", .bytes = true, .size = true, .offset = true },
	{ "DIO_WRITE", .bytes = true, .size = true, .offset = true },
	{ "READDIR", .bytes = true, .size = true, .offset = true },
	{ "SENDFILE", .bytes = true, .size = true, .offset = true },
	{ "SPLICE", .bytes = true, .size = true, .offset = true },
	{ "VMSPLICE", .bytes = true, .size = true },
	{ "COPY_FILE_RANGE", .bytes = true, .size = true, .offset = true },
	{ "FALLOCATE", .size = true, .offset = true },
	{ "MMAP", .size = true, .offset = true },
	{ "SYNC", .size = true, .offset = true },
	{ "TRUNCATE", .size = true },
	{ "MUNMAP", .size = true },
	{ "MREMAP", .size = true, .offset = true },
	{ "MSYNC", .size = true },
	{ "MADVISE", .size = true },
	{ "READLINK", .bytes = true, .size = true },
	{ "GETXATTR", .bytes = true, .size = true },
	{ "LISTXATTR", .bytes = true, .size = true },
	{ "SETXATTR", .size = true },
	{ "FADVISE", .size = true, .offset = true },
	{ "READAHEAD", .size = true, .offset = true },
	{ "LOCK", .size = true, .offset = true },
};

static const struct shape *shape_of(const char *operation)
{
	static const struct shape none;

	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
		if (!strcmp(shapes[i].operation, operation))
			return &shapes[i];
	return &none;
}

__attribute__((format(printf, 1, 2))) static void put(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	used += (size_t)vsnprintf(text + used, sizeof(text) - used, format, args);
	va_end(args);
	if (used >= sizeof(text))
		die("too many expectations");
}

/* Bytes travel as code points 0 to 255. */
static void put_bytes(const char *bytes)
{
	put("\"");
	for (; *bytes; bytes++) {
		unsigned char byte = (unsigned char)*bytes;

		if (byte < 0x20 || byte > 0x7e || byte == '"' || byte == '\\')
			put("\\u%04x", byte);
		else
			put("%c", byte);
	}
	put("\"");
}

static void row_close(void)
{
	if (row_open)
		put("}\n");
	row_open = false;
}

uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

void window(pid_t pid, pid_t tid, uint64_t begin, uint64_t end)
{
	pthread_mutex_lock(&text_lock);
	row_close();
	put("{\"window\":[%llu,%llu],\"pid\":%d,\"tid\":%d}\n", (unsigned long long)begin,
	    (unsigned long long)end, pid, tid);
	pthread_mutex_unlock(&text_lock);
}

void window_begin(void)
{
	last = (struct call){ .begin = now() };
}

void window_end(long ret)
{
	last.end = now();
	last.ret = ret;
	last.tid = (pid_t)syscall(SYS_gettid);
	window(getpid(), last.tid, last.begin, last.end);
}

long measured(long nr, long a, long b, long c, long d, long e, long f)
{
	long ret;

	window_begin();
	ret = syscall(nr, a, b, c, d, e, f);
	window_end(ret == -1 ? -errno : ret);
	return last.ret;
}

void row(const char *operation)
{
	const struct shape *shape = shape_of(operation);

	row_close();
	row_open = true;
	put("{\"operation\":\"%s\"", operation);
	row_thread(getpid(), last.tid);
	row_within(last.begin, last.end);
	if (!shape->bytes)
		row_empty("bytes_completed");
	if (!shape->size)
		row_empty("size");
	if (!shape->offset)
		row_empty("offset");
	if (strcmp(operation, "MMAP")) {
		row_empty("mmap_prot");
		row_empty("mmap_flags");
	}
	row_result(last.ret);
	if (shape->bytes)
		row_number("bytes_completed", last.ret > 0 ? last.ret : 0);
}

void row_mount(const char *source, const char *target, const char *flags)
{
	static char pair[3 * PATH_MAX], path[2 * PATH_MAX];

	row("MOUNT");
	snprintf(pair, sizeof(pair), "%s" ARROW "%s", source, absolute(path, target));
	row_text("filename", pair);
	row_text("flags", flags);
}

void row_number(const char *column, long long value)
{
	put(",\"%s\":%lld", column, value);
}

void row_text(const char *column, const char *bytes)
{
	put(",\"%s\":", column);
	put_bytes(bytes);
}

void row_address(const void *at)
{
	char hex[32];

	snprintf(hex, sizeof(hex), "%p", at);
	if (at)
		row_text("address", hex);
	else
		row_empty("address");
}

void row_empty(const char *column)
{
	put(",\"%s\":null", column);
}

void row_skip(const char *column)
{
	put(",\"%s\":{}", column);
}

void row_result(long ret)
{
	row_number("return_value", ret);
	row_number("errno", ret < 0 && ret > -4096 ? -ret : 0);
}

void row_thread(pid_t pid, pid_t tid)
{
	row_number("pid", pid);
	row_number("tid", tid);
}

void row_within(uint64_t begin, uint64_t end)
{
	put(",\"within\":[%llu,%llu]", (unsigned long long)begin, (unsigned long long)end);
}

void row_takes(uint64_t least)
{
	put(",\"takes\":%llu", (unsigned long long)least);
}

void row_times(unsigned long count)
{
	row_number("count", (long long)count);
}

void row_optional(void)
{
	put(",\"optional\":true");
}

void row_level(const char *level)
{
	row_text("level", level);
}

void note_missing(const char *what)
{
	row_close();
	put("{\"missing\":");
	put_bytes(what);
	put("}\n");
}

void expect_write(const char *path)
{
	int fd = path && *path ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644) : STDOUT_FILENO;

	row_close();
	if (fd < 0)
		die(path);
	for (size_t done = 0; done < used;) {
		ssize_t ret = write(fd, text + done, used - done);

		if (ret < 0)
			die("writing expectations");
		done += (size_t)ret;
	}
}
