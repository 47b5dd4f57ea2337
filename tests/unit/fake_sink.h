/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the rows of a session go without a file or memory, and what it was told. Main thread. */
#pragma once

#include "session/row_sink.h"

extern struct fake_sink {
	struct row_sink base;
	int slot; /* slot from which it gets rows; -1: none yet */
	bool later; /* its end lasts until a test calls `handler` */
	bool hangs; /* its end never comes */
	const char *limit;
	int ends, frees; /* how often they were asked for */
	int lacking; /* how often it was told what rows lack */
	const char *reason; /* reason of its end; NULL: it was discarded */
	bool open_at_end;   /* it was ended before its session's slot was closed */
	row_sink_handler handler;
	void *userdata;
} fake_sink;

/* As a session that begins finds it. */
void fake_sink_reset(void);
