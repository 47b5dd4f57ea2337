// SPDX-License-Identifier: GPL-2.0-or-later
#include "files.h"

#include <stdio.h>

#include "store.h"

void files_path(enum snapshot_kind kind, unsigned int which, uint32_t number, char path[SNAPSHOT_PATH_SIZE])
{
	switch (kind) {
	case SNAPSHOT_FILESYSTEM:
		snprintf(path, SNAPSHOT_PATH_SIZE, "filesystem_snapshot/filesystem_snap_%06u.csv.gz", number);
		break;
	case SNAPSHOT_PROCESS:
		snprintf(path, SNAPSHOT_PATH_SIZE, "process/process_snap_%06u.csv", number);
		break;
	default:
		snprintf(path, SNAPSHOT_PATH_SIZE, "system_spec/device_spec.%s", which ? "json" : "txt");
	}
}

void files_remove_parts(int output_fd, enum snapshot_kind kind, uint32_t number)
{
	char path[SNAPSHOT_PATH_SIZE];

	for (unsigned int which = 0; which < SNAPSHOT_FILES_MAX; which++) {
		files_path(kind, which, number, path);
		store_remove_part(output_fd, path, files_attempt(kind, number));
	}
}
