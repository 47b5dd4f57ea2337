/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * States of systemd units, as the system bus tells of them. Nothing is waited for: an answer is there at a later look. A
 * state that lasts less than a look is seen, too, as systemd tells of each change. Main thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <systemd/sd-event.h>

struct unit_states;

int unit_states_new(sd_event *event, struct unit_states **ret); /* -ENOMEM */
void unit_states_free(struct unit_states *states);		/* takes NULL */

/*
 * Whether the unit is in the state, or has been since the last unit_states_next(). The first look at a unit begins to watch it,
 * and a connection that broke is made anew: then it is in none. `why` gets a sentence if there is no bus, otherwise "".
 */
bool unit_states_has(struct unit_states *states, const char *unit, const char *state, char *why, size_t size);

/* All sessions have looked: forgets what is over, and stops to watch units at which nobody has looked. */
void unit_states_next(struct unit_states *states);
