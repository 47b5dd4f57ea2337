/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mounts of this process's mount namespace. Any thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The super block's device (major << 20 | minor) of the mount with that id. -ENOENT: there is no such mount. */
int mount_device(uint64_t mount, uint32_t *ret);

/* Where the hierarchy of cgroup v2 is mounted. -ENOENT: nowhere. */
int mount_cgroups(char *path, size_t size);
