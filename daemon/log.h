/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages of the daemon, one line each on stderr: if the journal reads stderr, with a priority that it
 * understands, otherwise with the program's name. Any thread: a line is one write().
 */
#pragma once

#include <syslog.h>

/* Checks whether the journal reads stderr. Before this call lines have no priority. */
void log_open(void);

/* Lines less urgent than this (LOG_ERR ... LOG_DEBUG) are not written; LOG_INFO at first. */
void log_set_level(int priority);

/* Level by its name ("error", "warning", "notice", "info", "debug"), or -EINVAL. */
int log_level_find(const char *name);

/* Control characters are written as '?', and a line longer than 2 KiB is cut. */
void log_print(int priority, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...)	 log_print(LOG_ERR, __VA_ARGS__)
#define log_warning(...) log_print(LOG_WARNING, __VA_ARGS__)
#define log_notice(...)	 log_print(LOG_NOTICE, __VA_ARGS__)
#define log_info(...)	 log_print(LOG_INFO, __VA_ARGS__)
#define log_debug(...)	 log_print(LOG_DEBUG, __VA_ARGS__)
