// SPDX-License-Identifier: GPL-2.0-or-later
#include "anonymize/folder.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "output/complain.h"
#include "verify/trace.h"

#define FOLDER_MODE 0750

int anonymize_folder(int parent_fd, const char *name)
{
	int fd = -1;

	if (mkdirat(parent_fd, name, FOLDER_MODE) == 0 || errno == EEXIST)
		fd = verify_open_folder(parent_fd, name);
	if (fd < 0)
		complain(NULL, "%s: %s", name, strerror(errno));
	return fd;
}
