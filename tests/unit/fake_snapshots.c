// SPDX-License-Identifier: GPL-2.0-or-later
#include "fake_snapshots.h"

#include <stdlib.h>
#include <unistd.h>

#include "snapshot/job.h"

/* ---- the linker has calls of the function come here (--wrap) ---- */

int __real_job_create(struct job *job, unsigned int which, struct store **ret);
int __wrap_job_create(struct job *job, unsigned int which, struct store **ret);

int __wrap_job_create(struct job *job, unsigned int which, struct store **ret)
{
	const char *file = getenv(FAKE_HELD_SNAPSHOTS);

	while (file && !access(file, F_OK))
		usleep(1000);
	return __real_job_create(job, which, ret);
}
