/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parses and formats durations and sizes for people. Pure functions; errors are -EINVAL (not such a text) and
 * -ERANGE (more than 64 bits can hold, or less than one nanosecond or byte).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * Parses "30s", "5m", "1h", "2d", "5ms", "250us", "10ns", "1.5s", "1h30m" to nanoseconds. A unit is required.
 */
int iotr_parse_duration(const char *text, uint64_t *ns);

/* Parses "4096", "64K", "128M", "1.5G", also "64KiB" and "64KB", to bytes; all units are powers of 1024. */
int iotr_parse_size(const char *text, uint64_t *bytes);

/* A number of bytes, or a percentage of a total that is known later. */
struct iotr_share {
	unsigned int percent; /* 0: not a percentage, `bytes` is the amount */
	uint64_t bytes;	      /* with a percentage: upper limit; without one: the amount, 0: no limit */
};

/* Parses "10%", a size as above, or "infinity". */
int iotr_parse_share(const char *text, struct iotr_share *share);

/* Returns the share of `whole` in bytes. */
uint64_t iotr_share_of(const struct iotr_share *share, uint64_t whole);

/* Parses a whole number that consists of decimal digits only and is at most `max`. */
int iotr_parse_number(const char *text, uint64_t max, uint64_t *number);

/* Formats as "3.2s", "5m 12s", "250us"; may round. Returns `text`. */
char *iotr_format_duration(char *text, size_t size, uint64_t ns);

/* Formats as "1.5 GiB", "17 B". */
char *iotr_format_size(char *text, size_t size, uint64_t bytes);
