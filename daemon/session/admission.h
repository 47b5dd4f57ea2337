/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is checked before a session starts or changes: errors that need no disk to be found. Main thread. */
#pragma once

#include "error.h"
#include "probes/probes.h"
#include "session_spec.h"

/* Whether there is an error in the filters; paths are not looked at. -EINVAL. */
int admission_check_filters(const struct iotr_session_spec *spec, struct engine_error *error);

/* Whether a session may start: its filters, and whether the daemon may open the files that it needs (-EMFILE). */
int admission_check(const struct iotr_session_spec *spec, struct engine_error *error);

/* When its programs are loaded: whether one of its streams has a hook (-EOPNOTSUPP). */
int admission_check_hooks(const struct probes *probes, const struct iotr_session_spec *spec, struct engine_error *error);
