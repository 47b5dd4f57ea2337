// SPDX-License-Identifier: GPL-2.0-or-later
#include "log.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "clock.h"
#include "log_limit.h"

/* Where messages come from says nothing to those who read them. */
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

enum {
	LINE_MAX_BYTES = 2048,
	FIELDS_MAX = 20,
	FIELDS_BYTES = LINE_MAX_BYTES + PATH_MAX + 2048, /* a line, a path, and all else, which is short */
};

#define ROW(kind, at_priority, id_, subject_, text_) \
	[LOG_##kind] = { .name = #kind, .id = id_, .subject = subject_, .text = text_, .priority = at_priority },
const struct log_message log_messages[LOG_KINDS] = { IOTR_MESSAGES(ROW) };

#define COUNT(member, field) +1
_Static_assert(4 + LOG_TEXTS(COUNT) LOG_NUMBERS(COUNT) <= FIELDS_MAX, "a field of a message is left out");

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

/* ---- to the journal ---- */

/* A message as the journal takes it; fields are texts NAME=value, one behind the other. */
struct entry {
	struct iovec fields[FIELDS_MAX];
	int count;
	size_t used;
	char text[FIELDS_BYTES];
};

/* A value for which there is no room is cut. */
static void add_field(struct entry *entry, const char *name, const char *value)
{
	char *text = entry->text + entry->used;
	size_t room = sizeof(entry->text) - entry->used;
	size_t length = clamp(snprintf(text, room, "%s=%s", name, value), room);

	entry->fields[entry->count++] = (struct iovec){ text, length };
	entry->used += length;
}

static void add_number(struct entry *entry, const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	add_field(entry, name, text);
}

#define ADD_TEXT(member, field) \
	if (about->member && *about->member) \
		add_field(entry, field, about->member);
#define ADD_NUMBER(member, field) \
	if (about->member) \
		add_number(entry, field, about->member);

/* Returns false if the journal did not take it. */
static bool send_entry(int priority, const struct log_about *about, const char *line)
{
	struct entry all, *entry = &all;

	entry->count = 0;
	entry->used = 0;
	add_field(entry, "MESSAGE", line);
	add_number(entry, "PRIORITY", (uint64_t)priority);
	if (about->kind != LOG_NO_KIND)
		add_field(entry, "MESSAGE_ID", log_messages[about->kind].id);
	LOG_NUMBERS(ADD_NUMBER)
	if (about->user)
		add_number(entry, LOG_USER_FIELD, *about->user);
	LOG_TEXTS(ADD_TEXT)
	return sd_journal_sendv(entry->fields, entry->count) >= 0;
}

/* ---- to stderr ---- */

/* What reads stderr for the journal takes the priority from the line, should the journal itself not be there. */
static void write_line(int priority, const char *line)
{
	char text[LINE_MAX_BYTES + 32];
	size_t room = sizeof(text) - 1, length;

	if (to_journal)
		length = clamp(snprintf(text, room, "<%d>%s", priority, line), room);
	else
		length = clamp(snprintf(text, room, "iotracerd: %s", line), room);
	text[length++] = '\n';
	if (write(STDERR_FILENO, text, length) < 0)
		return; /* a failed write cannot be reported anywhere */
}

static struct log_limit_verdict judge(const struct log_about *about, const char *format)
{
	const struct log_limit_key key = { about->kind, about->user, about->user ? *about->user : 0, format };

	return log_limit(&key, clock_ns(CLOCK_MONOTONIC));
}

static void put(int priority, const struct log_about *about, const char *format, va_list arguments)
{
	char line[LINE_MAX_BYTES];
	int saved = errno;
	struct log_limit_verdict verdict;
	size_t length;

	if (priority > level)
		return;
	verdict = judge(about, format);
	if (!verdict.taken)
		return;
	length = clamp(vsnprintf(line, sizeof(line), format, arguments), sizeof(line));
	if (verdict.left_out)
		length += clamp(snprintf(line + length, sizeof(line) - length, " (%" PRIu64 " more like this one were left out)",
					 verdict.left_out), sizeof(line) - length);
	line[length] = '\0';
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
			line[i] = '?';
	if (!to_journal || !send_entry(priority, about, line))
		write_line(priority, line);
	errno = saved;
}

void log_print(int priority, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	put(priority, &(const struct log_about){ 0 }, format, arguments);
	va_end(arguments);
}

void log_message(const struct log_about *about, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	put(log_messages[about->kind].priority, about, format, arguments);
	va_end(arguments);
}

void log_left_out(void)
{
	struct log_limit_key key;
	uint64_t left_out;

	while (log_limit_next(clock_ns(CLOCK_MONOTONIC), &key, &left_out)) {
		char whose[40] = "", line[128];

		if (key.of_user)
			snprintf(whose, sizeof(whose), " about uid %u", key.user);
		snprintf(line, sizeof(line), "%" PRIu64 " messages of kind %s%s were left out, as there were too many", left_out,
			 key.kind ? log_messages[key.kind].name : "other", whose);
		if (!to_journal || !send_entry(LOG_WARNING, &(const struct log_about){ 0 }, line))
			write_line(LOG_WARNING, line);
	}
}
