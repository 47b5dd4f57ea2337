/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trace of Perfetto (a sequence of TracePackets): each operation is a slice, of calls on the track of their thread, of
 * requests on one of their disk. What overlaps goes onto further tracks below that. Each disk has counters of the requests in
 * it and of its bytes a second, and a flow leads from a call to the requests that it caused. Memory is bounded: names and
 * tracks of which there come too many are told anew, and nothing but what is under way is held. One thread.
 */
#pragma once

#include <stdio.h>

#include "export/sink.h"

enum {
	PERFETTO_NAMES_MAX = 1 << 16,	 /* that are known at once, */
	PERFETTO_NAME_BYTES_MAX = 16 << 20, /* with so many bytes */
	PERFETTO_TRACKS_MAX = 1 << 16,	 /* processes, threads and disks that are known at once */
	PERFETTO_LANES_MAX = 4096,	 /* operations of one of them at once */
	PERFETTO_DISKS_MAX = 1024,
	PERFETTO_WINDOW_MS = 100, /* that bytes a second are the mean of */
};

/* The target is borrowed. NULL: out of memory. */
struct export_sink *perfetto_new(const struct export_target *target);
