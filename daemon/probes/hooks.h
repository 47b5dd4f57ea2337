/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which hook an operation is seen by: for each operation a list of candidates in order of preference,
 * of which the first that the kernel accepted is in use. Constant data.
 */
#pragma once

#include <stdbool.h>

#include "events.h"

#define HOOKS_ANY 0xff /* every operation of the stream that has no row of its own */

struct hook {
	unsigned char stream;
	unsigned char operation;
	const char *program; /* name of the program in its BPF object */
	const char *text;    /* the hook as it is shown to users */
};

/* The first candidate whose program `loaded` says is loaded; NULL: none is, and `reason` says why. */
const struct hook *hooks_find(enum iotr_stream stream, unsigned int operation,
			      bool (*loaded)(const char *program, const void *userdata),
			      const void *userdata, const char **reason);
