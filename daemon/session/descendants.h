/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Follows the descendants that already exist when a session begins to follow some processes. The BPF programs
 * see forks by then: a child whose parent is in the map when the child is created is followed by them. All
 * others appear in a list of all processes that is read after their parents were added to the map. So the list
 * is read again until it shows no process that is new. Main thread.
 */
#pragma once

#include "session/context.h"

/*
 * Makes the slot, which is prepared and not open yet, accept the living descendants of the spec's processes.
 * The programs that see forks must be attached. -errno.
 */
int descendants_follow(struct session_context *context, unsigned int slot, const struct iotr_session_spec *spec);
