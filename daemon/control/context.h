/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What every part of the control plane is given: the engine it drives and the loop it lives on.
 * Filled in once by whoever builds the daemon, borrowed by the server; main thread only.
 */
#pragma once

#include <stdint.h>
#include <systemd/sd-event.h>

#include "engine.h"

struct control {
	sd_event *event;
	struct engine *engine;
	uint64_t started_usec; /* CLOCK_MONOTONIC */

	/* Reads the configuration anew. 0 or -errno; it has logged what was wrong. */
	int (*reload)(void *userdata);
	void *userdata;

	/* Whose members may connect, beside root; GROUP_NONE: no such group here. */
	gid_t group;

	uint64_t stall_usec; /* a reader that takes nothing for so long is cut off; 0: 10 s */
	uint64_t idle_usec;  /* a message that stays half sent for so long is dropped; 0: 30 s */
};

#define GROUP_NONE ((gid_t)-1)
