// SPDX-License-Identifier: GPL-2.0-or-later
#include "reading/rate.h"

#include <string.h>

#define WIDTH_FIRST 1000000 /* a millisecond */

/* Two intervals become one. */
static void widen(struct rate *rate)
{
	for (unsigned int i = 0; i < RATE_INTERVALS / 2; i++)
		rate->counts[i] = rate->counts[2 * i] + rate->counts[2 * i + 1];
	memset(rate->counts + RATE_INTERVALS / 2, 0, sizeof(rate->counts) / 2);
	rate->width_ns *= 2;
	rate->used = (rate->used + 1) / 2;
}

/* Makes room in front for an earlier time. */
static void begin_at(struct rate *rate, uint64_t ns)
{
	for (;;) {
		uint64_t more = (rate->from_ns - ns + rate->width_ns - 1) / rate->width_ns;

		if (more + rate->used > RATE_INTERVALS) {
			widen(rate);
			continue;
		}
		memmove(rate->counts + more, rate->counts, rate->used * sizeof(*rate->counts));
		memset(rate->counts, 0, more * sizeof(*rate->counts));
		rate->from_ns = more * rate->width_ns > rate->from_ns ? 0 : rate->from_ns - more * rate->width_ns;
		rate->used += (unsigned int)more;
		return;
	}
}

void rate_add(struct rate *rate, uint64_t ns)
{
	uint64_t interval;

	if (!rate->width_ns) {
		rate->width_ns = WIDTH_FIRST;
		rate->from_ns = ns;
	}
	if (ns < rate->from_ns)
		begin_at(rate, ns);
	while ((interval = (ns - rate->from_ns) / rate->width_ns) >= RATE_INTERVALS)
		widen(rate);
	rate->counts[interval]++;
	if (interval >= rate->used)
		rate->used = (unsigned int)interval + 1;
}

void rate_narrow(struct rate *rate, unsigned int most)
{
	while (rate->used > most)
		widen(rate);
}
