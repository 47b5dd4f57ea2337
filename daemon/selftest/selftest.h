/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The self-test's I/O: a little of each kind, in a process of its own, so that the program that looks for its
 * rows knows what was done. The process is this program, started again with SELFTEST_OPTION and a folder; it
 * begins when it can read a byte from its standard input, works in the folder for less than SELFTEST_SECONDS,
 * and writes a struct selftest_note for each operation to its standard output.
 */
#pragma once

#include "selftest/note.h"

#define SELFTEST_OPTION	 "--self-test"
#define SELFTEST_COMMAND "iotr-selftest" /* command name of its rows */
#define SELFTEST_SECONDS 2

/* The main function of the process; returns its exit status. */
int selftest_main(const char *folder);
