/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Least privilege: the daemon keeps the capabilities of privilege.def and gives up all others for good, for
 * itself and for every program that it starts.
 */
#pragma once

#include <stdbool.h>

/*
 * Gives up what is not in the table; `nice`: keeps CAP_SYS_NICE, too. Before any thread is created, as each thread has
 * capabilities of its own.
 * A capability of the table that the process does not have stays away.
 * Where one cannot be given up, as many others as possible are, and the result is a negative errno.
 */
int privilege_reduce(bool nice);
