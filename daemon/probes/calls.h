/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of system calls that are rows. Constant data. */
#pragma once

#include <stddef.h>

#include "control.h"

struct call {
	const char *name;     /* the kernel's function is __x64_sys_NAME */
	int native, compat;   /* numbers, -1: none */
	struct iotr_call row; /* sessions is 0 */
};

struct plug {
	int native, compat;	/* numbers, -1: none */
	struct iotr_plug row;	/* sessions is 0 */
};

extern const struct plug plugs[];
extern const size_t plug_count;

extern const struct call calls[];
extern const size_t call_count;

/* Operations that the call may become: a bit each. */
unsigned int call_operations(const struct call *call);
