/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of bpf/hierarchy.bpf.c: a cgroup of version 2 that was made or removed. BPF programs and host share this. */
#pragma once

#include <linux/types.h>

enum {
	IOTR_CGROUP_NAME = 256, /* bytes of a folder's name, with a NUL: the kernel accepts no longer one */
};

struct iotr_cgroup_event {
	__u64 id;
	__u64 parent;  /* 0: it is the root */
	__u64 mono_ns; /* CLOCK_MONOTONIC */
	__u64 gone;    /* 1: removed, 0: made */
	char name[IOTR_CGROUP_NAME];
};
