/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which hook stands behind which operation: per operation a list of candidates in the order of
 * preference, of which the first that the kernel took is in use. Constant data.
 */
#pragma once

#include <stdbool.h>

#include "events.h"

#define HOOKS_ANY 0xff /* every operation of the stream that has no row of its own */

struct hook {
	unsigned char stream;
	unsigned char operation;
	const char *program; /* of the BPF objects */
	const char *text;    /* what a user is shown */
};

/* The first candidate whose program is there, as `loaded` says; NULL with a reason. */
const struct hook *hooks_find(enum iotr_stream stream, unsigned int operation,
			      bool (*loaded)(const char *program, const void *userdata),
			      const void *userdata, const char **reason);
