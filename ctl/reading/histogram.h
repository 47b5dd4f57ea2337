/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counts values of any size in bounded memory, for percentiles: buckets are 1/128 of a power of two wide, so a value that
 * is read back differs by at most 0.4 % from one that was counted; values below 256, and the greatest, are exact. Plain
 * data, all-zero at first. One thread.
 */
#pragma once

#include <stdint.h>

enum { HISTOGRAM_BUCKETS = 58 * 128 };

#define HISTOGRAM_ERROR_TEXT "0.4 %"
#define HISTOGRAM_ERROR	     0.004

struct histogram {
	uint64_t counts[HISTOGRAM_BUCKETS];
	uint64_t total, max, sum;
};

enum { PERCENTILES = 3 };

/* Those that are shown of latencies: half, nearly all, and the slow ones. The name is that in JSON, the head that of a table. */
extern const struct shown_percentile {
	double percent;
	const char *name, *head;
} shown_percentiles[PERCENTILES];

/* The number of the bucket of a value; greater values have no lesser one. */
unsigned int histogram_bucket(uint64_t value);

void histogram_add(struct histogram *histogram, uint64_t value);

/* The least value that `percent` of the values do not exceed; 100 is the greatest. 0 without any value. */
uint64_t histogram_percentile(const struct histogram *histogram, double percent);
