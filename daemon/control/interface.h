/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A Varlink interface: a table of methods. */
#pragma once

#include <stddef.h>

struct call;

struct method {
	const char *name;
	int (*handler)(struct call *call); /* returns 0, or -errno if it has not replied itself */
};

struct interface {
	const char *name;
	const char *description; /* Varlink interface definition */
	const struct method *methods;
	size_t method_count;
};
