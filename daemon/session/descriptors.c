// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/descriptors.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>

#include "cleanup.h"

/*
 * Descriptors of a session: its folder and its thread's; of each stream: folder, file, and one that could not be
 * closed yet.
 */
#define OF_SESSION 8
#define OF_STREAM  3
#define RESERVE	   32 /* clients, snapshots, compression, dumps */

DEFINE_CLEANUP(DIR *, closedir);

/* If no descriptor is left for the count itself, all are in use. -ENOMEM. */
static int count_open(size_t most, size_t *ret)
{
	_cleanup_(closedirp) DIR *folder = opendir("/proc/self/fd");

	*ret = folder ? 0 : most;
	if (!folder)
		return errno == ENOMEM ? -ENOMEM : 0;
	while (readdir(folder))
		(*ret)++;
	return 0;
}

int descriptors_check(uint32_t streams, struct engine_error *error)
{
	size_t need = OF_SESSION + OF_STREAM * (size_t)__builtin_popcount(streams), open;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
		return 0;
	if (count_open(limit.rlim_cur, &open) < 0)
		return engine_fail(error, -ENOMEM, "", "out of memory");
	if (open + need + RESERVE <= limit.rlim_cur)
		return 0;
	snprintf(error->message, sizeof(error->message),
		 "too many open files: %zu of %llu are open, and the session needs %zu%s", open,
		 (unsigned long long)limit.rlim_cur, need, DESCRIPTORS_ADVICE);
	return engine_fail(error, -EMFILE, "", NULL);
}
