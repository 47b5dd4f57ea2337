/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What every part of the control plane has access to: the engine and the event loop. Filled in once by the
 * manager, borrowed by the server; main thread only.
 */
#pragma once

#include <stdint.h>
#include <systemd/sd-event.h>

#include "engine.h"
#include "role.h"

struct interface;

struct control {
	sd_event *event;
	struct engine *engine;
	const struct interface *const *interfaces; /* those that are served; NULL ends the list */
	uint64_t started_usec; /* CLOCK_MONOTONIC */

	/*
	 * Reads the configuration anew and applies it if all of it is valid; otherwise returns -EINVAL and
	 * changes nothing. Files that declare sessions are applied one by one, also beside one that has an error.
	 * Appends a sentence for each error, and for each setting that is ignored, to the
	 * JSON arrays; they have been logged.
	 */
	int (*reload)(void *userdata, struct json_object *errors, struct json_object *warnings);
	void *userdata;

	gid_t groups[ROLE_COUNT]; /* by role, the group whose members have it; GROUP_NONE: there is none */

	uint64_t stall_usec; /* a client that does not read for so long is disconnected; 0: 10 s */
	uint64_t idle_usec;  /* a client whose message stays incomplete for so long is disconnected; 0: 30 s */
};
