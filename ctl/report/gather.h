/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a report shows beyond a summary, gathered from the rows as they are read, in bounded memory. One thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "reading/heat.h"
#include "reading/rate.h"
#include "reading/summary.h"
#include "report/amplified.h"

enum { GATHER_DISKS_MAX = 16 };

struct gathered_disk {
	char name[40];
	struct rate in_flight; /* nanoseconds that requests were in the device, by the time at which they were */
};

struct gathered {
	struct heat heat[IOTR_STREAM_COUNT];
	struct gathered_disk disks[GATHER_DISKS_MAX];
	size_t disk_count;
	uint64_t disks_left_out; /* requests of disks beyond those */
	struct amplified amplified;
};

/* All-zero first. -ENOMEM. gathered_done() must follow. */
int gathered_init(struct gathered *gathered);

/* The function of a summary_watcher. */
int gathered_row(void *gathered, const struct facts_columns *columns, const struct trace_rows *rows,
		 const struct facts *facts, unsigned int moves);

void gathered_done(struct gathered *gathered);
