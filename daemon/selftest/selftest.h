/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The self-test's I/O: a little of each kind, in a process of its own, so that the program that looks for its
 * rows knows what was done. The process is this program, started again with SELFTEST_OPTION and a folder; it
 * begins when it can read a byte from its standard input, works in the folder for less than SELFTEST_SECONDS,
 * and writes a struct selftest_note for each operation to its standard output.
 *
 * Outside of the service's confinement, where nothing of this is refused, a unit starts it without a folder. Its standard
 * input is a socket then (see outside.h), which it takes the descriptors of enum selftest_descriptor from, to work with those;
 * it answers with a byte.
 */
#pragma once

#include "selftest/note.h"

#define SELFTEST_OPTION	 "--self-test"
#define SELFTEST_COMMAND "iotr-selftest" /* command name of its rows */
#define SELFTEST_SECONDS 2

enum selftest_descriptor {
	SELFTEST_FOLDER,
	SELFTEST_GO,	/* its standard input */
	SELFTEST_NOTES, /* its standard output */
	SELFTEST_DESCRIPTORS,
};

#define SELFTEST_SOCKET "self-test" /* that of iotracer-self-test.socket */

/* The main function of the process; `folder` NULL: a unit has started it. Returns its exit status. */
int selftest_main(const char *folder);
