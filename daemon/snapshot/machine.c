// SPDX-License-Identifier: GPL-2.0-or-later
#include "machine.h"

#include <fcntl.h>
#include <stddef.h>

#include "rights.h"

int machine_root(void)
{
	const struct rights *before = rights_use(NULL);
	int fd = open("/proc/1/root", O_PATH | O_DIRECTORY | O_CLOEXEC);

	rights_use(before);
	return fd < 0 ? open("/", O_PATH | O_DIRECTORY | O_CLOEXEC) : fd;
}
