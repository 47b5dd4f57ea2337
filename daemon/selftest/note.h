/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the process of the self-test says what it did. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "events.h"

struct selftest_note {
	uint8_t stream;	   /* SELFTEST_ITSELF: the operation is an enum selftest_itself */
	uint8_t operation;
	uint8_t sure; /* what was done is such an operation on every machine */
};

enum { SELFTEST_ITSELF = IOTR_STREAM_COUNT };

enum selftest_itself {
	SELFTEST_REFUSED, /* something was refused by how the process is confined, and so was not tried */
	SELFTEST_ENDED,	  /* all of it was done */
};

/*
 * Writes to standard output that the operation was carried out; does nothing when `done` is false. Ends the
 * process if nobody reads any more.
 */
void selftest_note(enum iotr_stream stream, unsigned int operation, bool done, bool sure);

/* The same, about the process itself. */
void selftest_note_itself(enum selftest_itself what);
