/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The self-test: I/O of a process of its own (selftest/), recorded in two slots that belong to no visible
 * session and whose rows are only counted, not written. There are two because retransmissions belong to no
 * process. Other sessions continue unchanged; those without a process filter record this process, too. Main
 * thread.
 */
#pragma once

#include <stdint.h>

#include "engine_internal.h"

/* Result for one operation. */
enum selftest_verdict {
	SELFTEST_UNTRIED,
	SELFTEST_UNSURE, /* no row came, but none was certain to come */
	SELFTEST_NONE,	 /* no row came, although one had to */
	SELFTEST_ROWS,
};

struct selftest;

/* Called once, on the main loop, when the self-test has ended; its results can be read during the call. */
typedef void (*selftest_handler)(struct selftest *selftest, void *userdata);

/* Starts the one self-test, engine->selftest. Returns -errno with a sentence in `error`. */
int selftest_start(struct engine *engine, selftest_handler handler, void *userdata,
		   struct engine_error *error);

enum selftest_verdict selftest_verdict(const struct selftest *selftest, enum iotr_stream stream,
				       size_t operation, uint32_t *rows);

/* Why some of the planned operations could not be tried, or NULL. */
const char *selftest_trouble(const struct selftest *selftest);
