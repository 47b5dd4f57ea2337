/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The value that is typical of very many things at once: the geometric mean, with how far values lie from it. Latencies
 * are spread over powers of ten, so that their logarithms are what means and deviations tell of. Three numbers for each
 * thing, whatever comes, and those of two are those of both when added. Plain data, all-zero at first. Pure functions.
 */
#pragma once

#include <stdint.h>

struct typical {
	uint64_t count;
	double sum, squares; /* of the logarithms to the base 2 */
};

/* Of one latency in ns, as so many times 2 to the power of `unit`; 0: in ns. What took no time counts as 1 ns. */
struct typical typical_of(uint64_t latency_ns, double unit);

void typical_add(struct typical *to, const struct typical *other);

/* In the unit; 0 of none. */
double typical_value(const struct typical *typical);

/* Variance of the logarithms; of at least two. */
double typical_variance(const struct typical *typical);
