/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a report shows beyond a summary, gathered from the rows as they are read, in bounded memory. One thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "reading/heat.h"
#include "reading/rate.h"
#include "reading/summary.h"
#include "reading/top.h"

enum { GATHER_DISKS_MAX = 16 };

struct gathered_disk {
	char name[40];
	struct rate in_flight; /* nanoseconds that requests were in the device, by the time at which they were */
};

/* What an operation moves, and between whom. */
enum gathered_flow { GATHERED_CALL_READ, GATHERED_CALL_WRITE, GATHERED_DISK_READ, GATHERED_DISK_WRITE, GATHERED_FLOWS };

struct gathered {
	struct heat heat[IOTR_STREAM_COUNT];
	struct gathered_disk disks[GATHER_DISKS_MAX];
	size_t disk_count;
	uint64_t disks_left_out;	     /* requests of disks beyond those */
	struct top commands[GATHERED_FLOWS]; /* keys are commands */
	struct top_sums all[GATHERED_FLOWS];
};

/* All-zero first. -ENOMEM. gathered_done() must follow. */
int gathered_init(struct gathered *gathered);

/* The function of a summary_watcher. */
int gathered_row(void *gathered, const struct facts_columns *columns, const struct trace_rows *rows,
		 const struct facts *facts);

void gathered_done(struct gathered *gathered);
