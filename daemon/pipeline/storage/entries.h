/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The entries of a folder, as storage reads and removes what earlier sessions left. Any thread. */
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "cleanup.h"

enum { ENTRIES_DEPTH_MAX = 4 }; /* folders within a trace */

DEFINE_CLEANUP(DIR *, closedir);

/* Opens a folder for reading. The descriptor belongs to the DIR. */
static inline DIR *entries_open(int parent, const char *name)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);

	if (fd >= 0 && !folder)
		close(fd);
	return folder;
}

/* The next entry, hidden ones as marks included. */
static inline const struct dirent *entries_next_of_all(DIR *folder)
{
	const struct dirent *entry;

	while ((entry = readdir(folder)))
		if (entry->d_name[0] != '.' || (entry->d_name[1] && (entry->d_name[1] != '.' || entry->d_name[2])))
			return entry;
	return NULL;
}

/* The next entry that is not hidden. */
static inline const struct dirent *entries_next(DIR *folder)
{
	const struct dirent *entry;

	while ((entry = readdir(folder)))
		if (entry->d_name[0] != '.')
			return entry;
	return NULL;
}
