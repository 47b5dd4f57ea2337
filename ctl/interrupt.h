/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ctrl-C, and SIGTERM, as the end of a live view: no failure. One thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* From now on these signals end waiting (-EINTR) and not the program. */
void interrupt_catch(void);

/* Whether one came. */
bool interrupt_came(void);

/* Returns early when one comes, or has come. */
void interrupt_sleep(uint64_t ns);
