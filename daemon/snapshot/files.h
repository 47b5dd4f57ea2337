/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of a snapshot by kind and number, as the daemon and the process that takes it know them. */
#pragma once

#include "snapshot.h"

/* Where a file of that kind and number is, below the folder. `which`: below SNAPSHOT_FILES_MAX. */
void files_path(enum snapshot_kind kind, unsigned int which, uint32_t number, char path[SNAPSHOT_PATH_SIZE]);

/*
 * The number that tells two snapshots of a kind apart while they are made, when the names of their
 * files do not; 0: they do.
 */
static inline uint32_t files_attempt(enum snapshot_kind kind, uint32_t number)
{
	return kind == SNAPSHOT_SYSTEM ? number : 0;
}

/* Removes files that are not finished; either process does that when the other has gone. */
void files_remove_parts(int output_fd, enum snapshot_kind kind, uint32_t number);
