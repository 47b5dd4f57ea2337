/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cgroups that filters name, as the numbers by which the kernel knows them. The kernel side
 * looks whether one of a task's is among them; those of units that come while a session runs it
 * adds by itself, as it sees them made. Main thread.
 */
#pragma once

#include "probes/filter_error.h"
#include "probes/probes.h"
#include "session.h"

/* Whether the cgroups are there, and there are any to have units. */
int cgroups_check(const struct iotr_session_spec *spec, struct filter_error *error);

/* Makes what the spec names known for the session's bit; the hooks for units are attached. */
int cgroups_set(struct probes *probes, uint64_t bit, const struct iotr_session_spec *spec,
		struct filter_error *error);
