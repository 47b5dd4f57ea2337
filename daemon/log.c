// SPDX-License-Identifier: GPL-2.0-or-later
#include "log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 2048 };

static atomic_int level = LOG_INFO;
static atomic_bool to_journal;

static const struct {
	const char *name;
	int priority;
} levels[] = {
	{ "error", LOG_ERR },	  { "err", LOG_ERR },	{ "warning", LOG_WARNING },
	{ "notice", LOG_NOTICE }, { "info", LOG_INFO }, { "debug", LOG_DEBUG },
};

void log_open(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat st;

	to_journal = stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
		     !fstat(STDERR_FILENO, &st) && st.st_dev == device && st.st_ino == inode;
}

void log_set_level(int priority)
{
	level = priority;
}

int log_level_find(const char *name)
{
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
		if (!strcmp(levels[i].name, name))
			return levels[i].priority;
	return -EINVAL;
}

static size_t clamp(int printed, size_t room)
{
	if (printed < 0)
		return 0;
	return (size_t)printed < room ? (size_t)printed : room - 1;
}

void log_print(int priority, const char *format, ...)
{
	char line[LINE_MAX_BYTES];
	size_t head, length;
	int saved = errno;
	va_list arguments;

	if (priority > level)
		return;
	if (to_journal)
		head = clamp(snprintf(line, sizeof(line), "<%d>", priority), sizeof(line));
	else
		head = clamp(snprintf(line, sizeof(line), "iotracerd: "), sizeof(line));

	errno = saved;
	va_start(arguments, format);
	length = head + clamp(vsnprintf(line + head, sizeof(line) - head, format, arguments),
			      sizeof(line) - head);
	va_end(arguments);

	for (size_t i = head; i < length; i++)
		if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
			line[i] = '?';
	line[length++] = '\n';
	if (write(STDERR_FILENO, line, length) < 0)
		errno = saved; /* a failed write cannot be reported anywhere */
	errno = saved;
}
