/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers to text, fast: two digits at a time from a table. Each function writes at `out`, without
 * a NUL, and returns the end. Pure functions, usable from any thread.
 */
#pragma once

#include <stdint.h>

/* At most 20 bytes. */
char *digits_u64(char *out, uint64_t number);

/* At most 20 bytes. */
char *digits_s64(char *out, int64_t number);

/* Exactly `width` digits, zeros in front; `number` is less than 10^width, `width` at most 9. */
char *digits_padded(char *out, uint32_t number, unsigned int width);

/* "0x" and at most 16 digits. */
char *digits_hex(char *out, uint64_t number);
