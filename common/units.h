/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Durations and sizes as people write them, both ways. Pure functions; errors are -EINVAL (not
 * such a text) and -ERANGE (more than 64 bits hold, or less than one nanosecond or byte).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* "30s", "5m", "1h", "2d", "5ms", "250us", "10ns", "1.5s", "1h30m" as nanoseconds. A unit is a
 * must. */
int iotr_parse_duration(const char *text, uint64_t *ns);

/* "4096", "64K", "128M", "1.5G", also "64KiB" and "64KB", all powers of 1024, as bytes. */
int iotr_parse_size(const char *text, uint64_t *bytes);

/* Bytes, or a percentage of something that has to be known to tell them. */
struct iotr_share {
	unsigned int percent; /* 0: there is none, and `bytes` is meant */
	uint64_t bytes;	      /* at most so many, with a percentage; 0: no limit at all, without */
};

/* "10%", a size as above, or "infinity". */
int iotr_parse_share(const char *text, struct iotr_share *share);

/* In bytes. */
uint64_t iotr_share_of(const struct iotr_share *share, uint64_t whole);

/* A whole number in decimal digits alone, at most `max`. */
int iotr_parse_number(const char *text, uint64_t max, uint64_t *number);

/* "3.2s", "5m 12s", "250us": for people, so it may round. Returns `text`. */
char *iotr_format_duration(char *text, size_t size, uint64_t ns);

/* "1.5 GiB", "17 B". */
char *iotr_format_size(char *text, size_t size, uint64_t bytes);
