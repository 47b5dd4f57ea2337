/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How often I/O multiplies on its way from the application to the disk: two formulas, by operations and by bytes, and the
 * same layer by layer. What the counts do not tell is unknown, with the reason. Pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "layer_counts.h"

enum flow { FLOW_READ, FLOW_WRITE, FLOWS };

/* Layers from the application down to the disk. */
enum stage {
	STAGE_APPLICATION, /* operations: system calls, and requests of io_uring and libaio; bytes also by mapped files */
	STAGE_VFS,	   /* operations on files, however they came about: calls and faults */
	STAGE_CACHE,	   /* pages that were added to read them, or made dirty */
	STAGE_FILESYSTEM,  /* bios: data, metadata and journal */
	STAGE_DEVICE,	   /* requests of leaf disks */
	STAGES,
};

/* "read"; "application". */
const char *flow_name(enum flow flow);
const char *stage_name(enum stage stage);

struct flow_counts {
	struct iotr_layer_sum stages[STAGES];
	/* Reads: bytes that calls found in the page cache, and that were not read ahead by then. */
	uint64_t cached_bytes;
	/*
	 * Writes: so many bytes at most were made dirty in the page cache and are not submitted by file systems. It is a
	 * limit, as the cache makes large folios dirty as a whole, of which file systems write a part.
	 */
	uint64_t pending_bytes;
	/*
	 * Bytes that stacked disks were asked for, of which it is not known for whom the disks below did them: DEVICE has less than all,
	 * if it has any.
	 */
	uint64_t unseen_bytes;
	uint32_t uncounted; /* bit for each enum stage that this kernel has no hook for */
};

/* What is known besides the sums. */
struct surroundings {
	uint32_t missing;     /* bit for each enum iotr_layer without a hook */
	uint64_t dirty_bytes; /* of the page cache, on the whole machine; UINT64_MAX: not known */
};

/* The counts of one flow out of the sums of accounts. */
void flow_counts(enum flow flow, const struct iotr_layer_sum sums[IOTR_LAYER_COUNT],
		 const struct surroundings *surroundings, struct flow_counts *ret);

/* Whether nothing is known of what disks did. */
bool flow_device_unknown(const struct flow_counts *counts);

struct factor {
	bool known;
	bool at_least;	    /* there is more: not all that was written is back from the page cache, or what disks did is not all known */
	double value;	    /* if it is known */
	const char *reason; /* why it is not known, or not final: a clause, or NULL */
};

/* (operations of the VFS + those of the device) / system calls. */
struct factor factor_by_operations(const struct flow_counts *counts);

/* Bytes of the device / bytes of the application. */
struct factor factor_by_bytes(const struct flow_counts *counts);

/* Bytes of that layer / bytes of the application. */
struct factor factor_of_stage(const struct flow_counts *counts, enum stage stage);
