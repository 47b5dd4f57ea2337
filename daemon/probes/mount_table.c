// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/mount_table.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
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

bool mount_of_type(const char *const *types)
{
	_cleanup_(mount_list_done) struct mount_list list;
	struct mount_entry entry;

	if (mount_list_read(NULL, &list) < 0)
		return false;
	while (mount_list_next(&list, &entry)) {
		size_t length = strcspn(entry.type, "."); /* fuse.NAME */

		for (size_t i = 0; types[i]; i++)
			if (strlen(types[i]) == length && !memcmp(types[i], entry.type, length))
				return true;
	}
	return false;
}

bool mounts_changed(void)
{
	static int table = -1;
	struct pollfd ask = { .events = POLLPRI };

	if (table < 0) {
		table = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
		return true;
	}
	ask.fd = table;
	return poll(&ask, 1, 0) != 0;
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
