/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packets of a trace of Perfetto, written to a stream; what its messages are called and numbered is here alone. One thread. */
#pragma once

#include <stdio.h>

#include "export/names.h"
#include "export/protobuf.h"
#include "export/row.h"

/*
 * What events refer to by number is told before; when that is forgotten, it is told anew by other numbers, as no number may
 * have two meanings in a trace.
 */
struct perfetto_packets {
	FILE *stream;
	struct export_names operations, files;
	uint64_t forgotten; /* names, whose numbers come before those of names that are known */
	size_t name_bytes;
	bool begun;
	struct protobuf packet, event, annotation, interned, entry; /* that are being made */
};

/* CounterDescriptor.Unit of Perfetto. */
enum perfetto_unit { PERFETTO_UNIT_COUNT = 2, PERFETTO_UNIT_BYTES = 3 };

/* Of these functions those that return something return 0, or an error of errno. */

/* Before all else: what the clock of the trace was at a time of the day, both in ns. */
int perfetto_packets_clock(struct perfetto_packets *packets, uint64_t ns, uint64_t real_ns);

int perfetto_packets_process(struct perfetto_packets *packets, uint64_t uuid, uint64_t pid, const char *name);
int perfetto_packets_thread(struct perfetto_packets *packets, uint64_t uuid, uint64_t process, uint64_t pid, uint64_t tid,
			    const char *name);
/* `parent`: 0 for none. */
int perfetto_packets_track(struct perfetto_packets *packets, uint64_t uuid, uint64_t parent, const char *name);
int perfetto_packets_counter(struct perfetto_packets *packets, uint64_t uuid, uint64_t parent, const char *name,
			     enum perfetto_unit unit);

/* The begin of what a row is about, on a track. `flow`: 0 for none. */
int perfetto_packets_begin(struct perfetto_packets *packets, uint64_t uuid, uint64_t ns, const struct export_row *row,
			   uint64_t flow);
int perfetto_packets_end(struct perfetto_packets *packets, uint64_t uuid, uint64_t ns);
int perfetto_packets_count(struct perfetto_packets *packets, uint64_t uuid, uint64_t ns, uint64_t value);

/* A value of a time that is past: it is of another sequence, so that each is in the order of time. */
int perfetto_packets_count_late(struct perfetto_packets *packets, uint64_t uuid, uint64_t ns, uint64_t value);
void perfetto_packets_done(struct perfetto_packets *packets);
