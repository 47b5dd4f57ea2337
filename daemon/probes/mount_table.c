// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/mount_table.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "mount_list.h"

int mount_device(uint64_t mount, uint32_t *ret)
{
	_cleanup_(mount_list_done) struct mount_list list;
	struct mount_entry entry;
	int r = mount_list_read(NULL, &list);

	if (r < 0)
		return r;
	while (mount_list_next(&list, &entry))
		if (entry.id == mount) {
			*ret = entry.device;
			return 0;
		}
	return -ENOENT;
}

int mount_cgroups(char *path, size_t size)
{
	_cleanup_(mount_list_done) struct mount_list list;
	struct mount_entry entry;
	int r = mount_list_read(NULL, &list);

	if (r < 0)
		return r;
	while (mount_list_next(&list, &entry))
		if (!strcmp(entry.type, "cgroup2"))
			return (size_t)snprintf(path, size, "%s", entry.path) < size ? 0 : -ENAMETOOLONG;
	return -ENOENT;
}
