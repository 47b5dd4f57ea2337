/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's symbols with their addresses, /proc/kallsyms. The kernel shows addresses to who had CAP_SYSLOG when he opened
 * the file, so it is opened once, before that is given up, and read as often as need be.
 */
#pragma once

#include <stdio.h>

/*
 * A descriptor of the file: that on standard input, as which the service's unit has it opened outside of the service's
 * sandbox, in whose place /dev/null is put, and otherwise a new one. -1: there is no such file. Main thread, at the start.
 */
int symbols_open(void);

/* The same file from its beginning, for the caller to close; the descriptor stays open. NULL: -1, or no memory. Any thread. */
FILE *symbols_read(int symbols);
