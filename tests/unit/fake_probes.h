/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A probe set without a kernel: which slots have filters and are open, and which groups are attached. Looking for
 * the paths of filters waits as long as a test holds it, like a disk that does not answer.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "probes/probes.h"
#include "session_spec.h"

struct fake_probes {
	bool prepared[IOTR_SESSIONS_MAX], open[IOTR_SESSIONS_MAX];
	bool attached[PROBES_GROUP_COUNT];
	struct probes_loss loss;   /* of every stream and slot */
	uint64_t in_flight;	   /* mask of slots in which something is in flight */
	const char *prepare_error; /* why filters cannot be set; NULL: they can */
	const char *path_error;	   /* why paths cannot be found; NULL: they can */
};

/* The one set; fake_probes_reset() makes it as it was. */
extern struct fake_probes fake_probes;
void fake_probes_reset(void);

/* From now on whoever looks for paths waits, until they are let go. */
void fake_paths_hold(void);
void fake_paths_let_go(void);
