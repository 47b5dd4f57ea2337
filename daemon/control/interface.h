/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A Varlink interface: a table of methods. */
#pragma once

#include <stddef.h>

#include "role.h"

struct call;

struct method {
	const char *name;
	enum role needs; /* the least role that may call it; not ROLE_NONE */
	int (*handler)(struct call *call); /* returns 0, or -errno if it has not replied itself */
};

struct interface {
	const char *name;
	const char *description; /* Varlink interface definition */
	const struct method *methods;
	size_t method_count;
};
