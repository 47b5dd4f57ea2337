/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The folder of all traces, and how much of its disk they may use. Main thread. */
#pragma once

#include "session/context.h"

/*
 * Makes the log folder, closed to all but root and the group that may read traces, and the storage of its
 * context. Folders whose notes say that they will be recovered are left to recovery. -errno.
 */
int log_folder_open(struct session_context *context);

/* Sets new limits, which apply from now on. */
void log_folder_limit(struct session_context *context, const struct engine_storage *limits);
