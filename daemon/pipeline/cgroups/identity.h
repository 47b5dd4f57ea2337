/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the path of a cgroup tells: the systemd unit, the container and the Kubernetes pod it belongs to. Any thread. */
#pragma once

enum {
	CGROUP_UNIT_SIZE = 256, /* with a NUL, as the next two */
	CGROUP_CONTAINER_SIZE = 64 + 1,
	CGROUP_POD_SIZE = 36 + 1,
};

/* Each is "" if the path does not name one. */
struct cgroup_identity {
	/*
	 * The innermost service, scope, socket, mount or swap, by the name that systemctl shows: the underscore before
	 * names that a file of the kernel could have is removed. Only names that systemd allows are units.
	 */
	char unit[CGROUP_UNIT_SIZE];
	char container_id[CGROUP_CONTAINER_SIZE]; /* of the innermost container: 64 hex digits */
	char pod_uid[CGROUP_POD_SIZE];	/* with dashes; that of a static pod is 32 hex digits */
};

/* Takes any bytes; `path` is one below the root of the hierarchy. */
void cgroup_identify(const char *path, struct cgroup_identity *ret);
