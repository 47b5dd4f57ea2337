// SPDX-License-Identifier: GPL-2.0-or-later
#include "kinds.h"

const struct job_kind *const job_kinds[SNAPSHOT_KIND_COUNT] = {
	[SNAPSHOT_SYSTEM] = &job_system,
	[SNAPSHOT_PROCESS] = &job_process,
	[SNAPSHOT_FILESYSTEM] = &job_filesystem,
};
