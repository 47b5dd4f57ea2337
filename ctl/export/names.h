/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table that numbers texts in the order in which they come, from 0. Takes an all-zero object as empty. One thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "trace_rows.h"

struct export_names {
	char **texts; /* by number, ended by a NUL */
	uint32_t *slots;
	size_t count, slot_count;
};

/* The number of the text, which is that of `count` before when it is new; -ENOMEM; -E2BIG: there are `most` others. */
int64_t export_names_number(struct export_names *names, struct trace_text text, size_t most);
void export_names_done(struct export_names *names);
