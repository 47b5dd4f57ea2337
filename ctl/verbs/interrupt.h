/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ctrl-C and SIGTERM as the normal end of a live view. One thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* From now on these signals interrupt waiting (-EINTR) instead of ending the program. */
void interrupt_catch(void);

/* Whether such a signal has come. */
bool interrupt_came(void);

/* Returns early if such a signal comes or has come. */
void interrupt_sleep(uint64_t ns);
