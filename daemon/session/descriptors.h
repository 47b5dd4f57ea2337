/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The limit of the daemon's file descriptors. One session too many would use up those that running sessions
 * need to open their next segments, and they would lose rows.
 */
#pragma once

#include <stdint.h>

#include "error.h"

/* Advice for the user, appended to an error message when descriptors have run out. */
#define DESCRIPTORS_ADVICE \
	"; the daemon may open no more files: raise LimitNOFILE= of its unit, or `ulimit -Hn` where it is started"

/* -EMFILE: the descriptors that are left to the daemon are too few for one more session of these streams. */
int descriptors_check(uint32_t streams, struct engine_error *error);
