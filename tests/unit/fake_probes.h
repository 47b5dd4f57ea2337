/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A probe set without a kernel: which slots have filters and are open, and which groups are attached. Its rows come
 * from fake_ring.h, and looking for the paths of filters takes a disk that answers, see fake_disk.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "probes/loading.h"
#include "probes/probes.h"
#include "session_spec.h"

struct fake_probes {
	bool prepared[IOTR_SESSIONS_MAX], open[IOTR_SESSIONS_MAX];
	bool attached[PROBES_GROUP_COUNT];
	struct probes_loss loss;   /* of every stream and slot */
	uint64_t in_flight;	   /* mask of slots in which something is in flight */
	const char *prepare_error; /* why filters cannot be set; NULL: they can */
	const char *path_error;	   /* why paths cannot be found; NULL: they can */
	bool loading;		   /* the programs are being loaded, until fake_probes_loaded() */
	const char *no_hook;	   /* why no operation has a hook; NULL: each has */
};

/* The one set; fake_probes_reset() makes it as it was. */
extern struct fake_probes fake_probes;
void fake_probes_reset(void);

/* All programs are loaded: tells those who wait for them. */
void fake_probes_loaded(void);
