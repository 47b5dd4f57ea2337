/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the process of the self-test says what it did. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "events.h"

struct selftest_note {
	uint8_t stream;
	uint8_t operation;
	uint8_t sure; /* what was done is such an operation on every machine */
};

/*
 * Writes to standard output that the operation was carried out; does nothing when `done` is false. Ends the
 * process if nobody reads any more.
 */
void selftest_note(enum iotr_stream stream, unsigned int operation, bool done, bool sure);
