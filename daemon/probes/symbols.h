/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's symbols with their addresses, /proc/kallsyms. The kernel shows addresses to who had CAP_SYSLOG when he opened
 * the file, so it is opened once, before that is given up, and read as often as need be.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * A descriptor of the file: that on standard input, as which the service's unit has it opened outside of the service's
 * sandbox, in whose place /dev/null is put, and otherwise a new one. -1: there is no such file. Main thread, at the start.
 */
int symbols_open(void);

/*
 * Fills in the addresses of `count` names, the first one where several have the name; 0: there is no such name, or its address
 * is not told. The addresses must be 0 before. The descriptor stays open; -1: there is none. Any thread.
 */
void symbols_find(int symbols, const char *const *names, size_t count, uint64_t *addresses);
