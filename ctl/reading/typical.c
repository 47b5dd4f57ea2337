// SPDX-License-Identifier: GPL-2.0-or-later
#include "reading/typical.h"

#include <math.h>

struct typical typical_of(uint64_t latency_ns, double unit)
{
	double logarithm = log2((double)(latency_ns ?: 1)) - unit;

	return (struct typical){ 1, logarithm, logarithm * logarithm };
}

void typical_add(struct typical *to, const struct typical *other)
{
	to->count += other->count;
	to->sum += other->sum;
	to->squares += other->squares;
}

double typical_value(const struct typical *typical)
{
	return typical->count ? exp2(typical->sum / (double)typical->count) : 0;
}

double typical_variance(const struct typical *typical)
{
	double count = (double)typical->count;

	/* Where all are the same, rounding may leave less than nothing. */
	return fmax(0, (typical->squares - typical->sum * typical->sum / count) / (count - 1));
}
