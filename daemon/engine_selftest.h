/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The self-test: I/O of a process of its own (selftest/), recorded by two sessions that nobody sees
 * and of which no row is written, only counted. Two, as retransmissions belong to no process. Other
 * sessions go on as they are; those that want every process see this one, too. Main thread.
 */
#pragma once

#include <stdint.h>

#include "engine_internal.h"

/* What became of an operation. */
enum selftest_verdict {
	SELFTEST_UNTRIED,
	SELFTEST_UNSURE, /* no row came, nor was one sure to */
	SELFTEST_NONE,	 /* no row came */
	SELFTEST_ROWS,
};

struct selftest;

/* Called once, on the main loop, when the self-test has ended, and while it can be asked. */
typedef void (*selftest_handler)(struct selftest *selftest, void *userdata);

/* One self-test at a time: engine->selftest. -errno with a sentence in `error`. */
int selftest_start(struct engine *engine, selftest_handler handler, void *userdata,
		   struct engine_error *error);

enum selftest_verdict selftest_verdict(const struct selftest *selftest, enum iotr_stream stream,
				       size_t operation, uint32_t *rows);

/* Why not all that was planned could be done, or NULL. */
const char *selftest_trouble(const struct selftest *selftest);
