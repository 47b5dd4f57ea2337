/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A probe set without a kernel: which slots have filters and are open, which groups are attached, and what there is no
 * hook for. Its rows come from fake_ring.h, and looking for the paths of filters takes a disk that answers, see
 * fake_disk.h. Its programs take a quarter of a percent of a CPU: 10,000 runs a second of 250 ns.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "probes/loading.h"
#include "probes/probes.h"
#include "session_spec.h"

struct fake_probes {
	bool prepared[IOTR_SESSIONS_MAX];
	_Atomic bool open[IOTR_SESSIONS_MAX];	     /* read by fake_ring.c in the consumer's thread */
	_Atomic uint32_t streams[IOTR_SESSIONS_MAX]; /* streams that the slot is prepared for */
	bool attached[PROBES_GROUP_COUNT];
	uint64_t in_flight;	   /* session mask: slots in which events are in flight */
	const char *prepare_error; /* the error of setting filters; NULL: it succeeds */
	const char *path_error;	   /* the error of looking for paths; NULL: it succeeds */
	uint32_t lacks;		   /* what is not seen yet, until fake_probes_loaded(): see enum probes_lack */
	bool loading;		   /* the programs are being loaded, until fake_probes_loaded() */
	const struct dirtier_lack *lack; /* a hook of the dirtiers that there is none of; NULL: all are there */
	struct iotr_operations hookless[IOTR_STREAM_COUNT]; /* operations without a hook */
};

/* The one set; fake_probes_reset() makes it as it was. */
extern struct fake_probes fake_probes;
void fake_probes_reset(void);

/* Tells those who wait of what there is now. */
void fake_probes_tell(void);

/* All programs are loaded, and inodes are seen. */
void fake_probes_loaded(void);
