/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the daemon does, as numbers in the text format of Prometheus (version 0.0.4). Main thread. */
#pragma once

#include <stddef.h>

#include "engine.h"

/*
 * New text, to be freed, with its length; NULL: out of memory. Sessions that have not ended, at most 64, have series of their
 * own; what others have done is in the sums over all.
 */
char *metrics_text(struct engine *engine, size_t *length);
