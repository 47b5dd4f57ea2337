/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "probes/timing.h"

extern struct fake_timing {
	const char *refused; /* why the programs are not loaded; NULL: they are */
	int loaded;	     /* how many are */
	struct timing_operation operations[IOTR_TIMING_WATCHES];
	struct iotr_timing counts[IOTR_TIMING_WATCHES]; /* by watch */
} fake_timing;
