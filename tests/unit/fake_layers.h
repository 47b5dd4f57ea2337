/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts by layer without a kernel: the accounts that a test puts there. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "probes/layers.h"

enum { FAKE_ACCOUNTS = 8 };

struct fake_layers {
	struct layers_account accounts[FAKE_ACCOUNTS];
	size_t count;
	struct layers_missing missing; /* without a hook: nothing is missing */
	const char *refused;	       /* why the programs cannot be loaded; NULL: they can */
	uint32_t followed;	       /* a process of a command */
	uint32_t commands;	       /* that it is of, as bits */
	int follow_error;	       /* negative errno: why no process can be followed; 0: it can */
	unsigned int loaded;	       /* how often they were */
	bool attached;
};

extern struct fake_layers fake_layers;
void fake_layers_reset(void);
