// SPDX-License-Identifier: GPL-2.0-or-later
/* Times of operations without a kernel. */
#include "fake_timing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct fake_timing fake_timing;

struct timing {
	int unused;
};

int timing_load(struct probes *probes, struct timing **ret, char *why, size_t why_size)
{
	(void)probes;
	if (fake_timing.refused) {
		snprintf(why, why_size, "%s", fake_timing.refused);
		return -EPERM;
	}
	*ret = calloc(1, sizeof(**ret));
	fake_timing.loaded += *ret != NULL;
	return *ret ? 0 : -ENOMEM;
}

int timing_attach(struct timing *timing, char *why, size_t why_size)
{
	(void)timing, (void)why, (void)why_size;
	return 0;
}

void timing_free(struct timing *timing)
{
	fake_timing.loaded -= timing != NULL;
	free(timing);
}

int timing_watch(struct timing *timing, const struct timing_operation *operations, size_t count)
{
	(void)timing;
	for (size_t i = 0; i < count; i++)
		fake_timing.operations[i] = operations[i];
	return 0;
}

int timing_read(struct timing *timing, size_t watch, struct iotr_timing *ret)
{
	(void)timing;
	*ret = fake_timing.counts[watch];
	return 0;
}
