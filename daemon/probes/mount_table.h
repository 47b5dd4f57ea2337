/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mounts of this process's mount namespace. Any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The super block's device (major << 20 | minor) of the mount with that id. -ENOENT: there is no such mount. */
int mount_device(uint64_t mount, uint32_t *ret);

/* Whether one is mounted whose type is in the list, which ends with NULL. FUSE's are found as "fuse", whatever they are called. */
bool mount_of_type(const char *const *types);

/* Whether mounts have changed since it was asked last; true at first, and where it cannot be known. One thread. */
bool mounts_changed(void);

/* Where the hierarchy of cgroup v2 is mounted. -ENOENT: nowhere. */
int mount_cgroups(char *path, size_t size);
