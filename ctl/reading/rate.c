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

unsigned int rate_cover(struct rate *rate, uint64_t ns)
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
	if (interval >= rate->used)
		rate->used = (unsigned int)interval + 1;
	return (unsigned int)interval;
}

void rate_add(struct rate *rate, uint64_t ns)
{
	unsigned int interval = rate_cover(rate, ns);

	rate->counts[interval]++;
}

void rate_add_span(struct rate *rate, uint64_t from_ns, uint64_t to_ns)
{
	unsigned int interval, last;

	if (from_ns >= to_ns)
		return;
	/* Either may widen the intervals, so that numbers are taken when both are covered. */
	rate_cover(rate, to_ns - 1);
	interval = rate_cover(rate, from_ns);
	last = rate_cover(rate, to_ns - 1);
	for (uint64_t at = from_ns; interval < last; interval++) {
		uint64_t next = rate->from_ns + (interval + 1) * rate->width_ns;

		rate->counts[interval] += next - at;
		from_ns = at = next;
	}
	rate->counts[last] += to_ns - from_ns;
}

void rate_narrow(struct rate *rate, unsigned int most)
{
	while (rate->used > most)
		widen(rate);
}
