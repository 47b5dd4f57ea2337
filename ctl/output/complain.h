/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Errors: sentences on stderr and, with --json, documents on stdout. One thread. */
#pragma once

#include "verb.h"

/* Prints an error on stderr; `hint` says what to do about it, or is NULL. */
void complain(const char *hint, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * The same for a command line that cannot be understood; returns EXIT_USAGE. `parameter` is the part at fault
 * for readers of JSON, by its name in the protocol or as it was written; NULL: not known.
 */
int complain_usage_of(const struct context *context, const char *parameter, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
#define complain_usage(context, ...) complain_usage_of(context, NULL, __VA_ARGS__)

/* Prints the last error as a document, unless there was none or a document was printed before. */
void complain_in_json(void);
