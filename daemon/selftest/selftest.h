/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The self-test's I/O: a little of each kind, in a process of its own, so that the program that looks for its
 * rows knows what was done. The process is this program, started again with SELFTEST_OPTION and a folder; it
 * begins when it can read a byte from its standard input, works in the folder for less than SELFTEST_SECONDS,
 * and writes a struct selftest_note for each operation to its standard output.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "events.h"

#define SELFTEST_OPTION	 "--self-test"
#define SELFTEST_COMMAND "iotr-selftest" /* command name of its rows */
#define SELFTEST_SECONDS 2

struct selftest_note {
	uint8_t stream;
	uint8_t operation;
	uint8_t sure; /* what was done is such an operation on every machine */
};

/* The main function of the process; returns its exit status. */
int selftest_main(const char *folder);

/* Parts of it; each leaves descriptors and files that it no longer needs to the end of the process. */
void selftest_files(void);
void selftest_sockets(void);
void selftest_ring(void);

/* Says that the operation was carried out; does nothing when `done` is false. */
void selftest_note(enum iotr_stream stream, unsigned int operation, bool done, bool sure);
