/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is mounted, as this process sees it. Any thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The device (major << 20 | minor) of the mount of that number, as the kernel itself knows it. -ENOENT. */
int mount_device(uint64_t mount, uint32_t *ret);

/* Where the hierarchy of cgroup v2 is mounted. -ENOENT: nowhere. */
int mount_cgroups(char *path, size_t size);
