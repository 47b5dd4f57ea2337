/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A self-test: I/O of a process of its own (selftest.h), recorded in two slots that belong to no session and
 * whose rows are only counted, not written. There are two because retransmissions belong to no process.
 * Sessions continue unchanged; those without a process filter record this process, too. Only one runs at a
 * time. Main thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "error.h"
#include "events.h"
#include "pipeline/consumer.h"
#include "probes/probes.h"

enum { SELFTEST_SLOTS = 2 };

struct selftest_config {
	sd_event *event;
	const char *state_dir; /* its process works in a folder there */
	struct probes *probes;
	struct consumer *consumer;
	/*
	 * Reserves free slots, attaches the hooks of all streams, and has the rings drained, until the slots are
	 * given back, cleared and with nothing in flight. -ENOSPC: there are too few.
	 */
	int (*reserve)(unsigned int slots[SELFTEST_SLOTS], void *userdata);
	void (*give_back)(void *userdata);
	void *userdata;
};

/* Result for one operation. */
enum selftest_verdict {
	SELFTEST_UNTRIED,
	SELFTEST_UNSURE, /* no row came, but none was certain to come */
	SELFTEST_NONE,	 /* no row came, although one had to */
	SELFTEST_ROWS,
};

struct selftest;

/* Called once, on the main loop, when it has ended. Its results can be read during the call; then it is freed. */
typedef void (*selftest_handler)(const struct selftest *selftest, void *userdata);

/* The config is copied, except for the path. Returns -errno with a sentence in `error`. */
int selftest_new(const struct selftest_config *config, selftest_handler handler, void *userdata,
		 struct selftest **ret, struct engine_error *error);

/* Ends it at once, with the results so far: its handler is called. */
void selftest_abort(struct selftest *selftest);

enum selftest_verdict selftest_verdict(const struct selftest *selftest, enum iotr_stream stream,
				       size_t operation, uint32_t *rows);

/* Why some of the planned operations could not be tried, or NULL. */
const char *selftest_trouble(const struct selftest *selftest);
