/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cgroups that filters name, as the kernel's cgroup ids. The kernel side checks whether a task's
 * cgroup or one above it is among them, and adds the cgroups of units by itself when they are created
 * while a session runs. Main thread.
 */
#pragma once

#include "probes/filter_error.h"
#include "probes/probes.h"
#include "session_spec.h"

/* Checks that the cgroups exist, and that cgroup v2 is mounted if the spec names units. -EINVAL with the error. */
int cgroups_check(const struct iotr_session_spec *spec, struct filter_error *error);

/* Adds what the spec names for the session's bit; the hooks for units (PROBES_PROCESS) must be attached. */
int cgroups_set(struct probes *probes, uint64_t bit, const struct iotr_session_spec *spec,
		struct filter_error *error);
