/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages of the daemon. Where the journal reads stderr they go to it with fields: priority, kind, and what they are
 * about. Otherwise each is a line on stderr, with the program's name. Any thread: a line is one write().
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>
#include <syslog.h>

#include "messages.def"

#define LOG_KIND(kind, ...) LOG_##kind,
enum log_kind {
	LOG_NO_KIND, /* one that nobody searches for; it has no MESSAGE_ID= */
	IOTR_MESSAGES(LOG_KIND)
	LOG_KINDS,
};
#undef LOG_KIND

/* A row of messages.def. */
struct log_message {
	const char *name, *id, *subject, *text;
	int priority;
};

extern const struct log_message log_messages[LOG_KINDS]; /* LOG_NO_KIND: all NULL */

/* Fields of a message, X(member, field): texts, and numbers. Those that are NULL or 0 are left out. */
#define LOG_TEXTS(X) \
	X(session, "IOTRACER_SESSION") \
	X(stream, "IOTRACER_STREAM") \
	X(cause, "IOTRACER_CAUSE") \
	X(from, "IOTRACER_FROM") \
	X(to, "IOTRACER_TO") \
	X(output, "IOTRACER_OUTPUT") \
	X(reason, "IOTRACER_REASON") \
	X(trigger, "IOTRACER_TRIGGER") \
	X(value, "IOTRACER_VALUE") \
	X(hook, "IOTRACER_HOOK")
#define LOG_NUMBERS(X) \
	X(error, "ERRNO") \
	X(rows, "IOTRACER_ROWS")
#define LOG_USER_FIELD "IOTRACER_UID"

#define LOG_TEXT(member, field) const char *member;
#define LOG_NUMBER(member, field) uint64_t member;
struct log_about {
	enum log_kind kind;
	LOG_TEXTS(LOG_TEXT)
	LOG_NUMBERS(LOG_NUMBER)
	const uid_t *user; /* a client's; NULL: none */
};
#undef LOG_TEXT
#undef LOG_NUMBER

/* ABOUT(ROWS_LOST, .session = name, .rows = 3) */
#define ABOUT(KIND, ...) (&(const struct log_about){ .kind = LOG_##KIND, __VA_ARGS__ })

/* Checks whether the journal reads stderr. Before this call lines go to stderr without a priority. */
void log_open(void);

/* What is less urgent than this (LOG_ERR ... LOG_DEBUG) is not written; LOG_INFO at first. */
void log_set_level(int priority);

/* Level by its name ("error", "warning", "notice", "info", "debug"), or -EINVAL. */
int log_level_find(const char *name);

/*
 * A message of the kind and with the fields of `about`, at the priority of its kind. Control characters are written as
 * '?' in the line, and one longer than 2 KiB is cut. Too many of a kind, as log_limit.h has it, are left out. errno stays,
 * and is what %m shows.
 */
void log_message(const struct log_about *about, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Says how many messages were left out, see log_limit.h, of which none has come since that would say so. Every second or so. */
void log_left_out(void);

/* The same without kind and fields. */
void log_print(int priority, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...)	 log_print(LOG_ERR, __VA_ARGS__)
#define log_warning(...) log_print(LOG_WARNING, __VA_ARGS__)
#define log_notice(...)	 log_print(LOG_NOTICE, __VA_ARGS__)
#define log_info(...)	 log_print(LOG_INFO, __VA_ARGS__)
#define log_debug(...)	 log_print(LOG_DEBUG, __VA_ARGS__)
