/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts as a line of bars, each one character of eight heights. Pure function, usable from any thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* In bytes, with the NUL. */
#define SPARKLINE_SIZE(counts) (3 * (counts) + 1)

/* The greatest is the highest bar; 0 is a space, and what is above 0 at least the lowest bar. */
void sparkline_write(const uint64_t *counts, size_t count, char *text, size_t size);
