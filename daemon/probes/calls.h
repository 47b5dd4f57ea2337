/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of system calls that make rows, from calls.def and plugs.def. Constant data. */
#pragma once

#include <stddef.h>
#include <stdint.h>

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

/* The operations that the call may become, as bits by enum iotr_vfs_operation. */
uint64_t call_operations(const struct call *call);
