/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Types of file systems by device: learnt from name records, otherwise read from mountinfo, again
 * at most once a second while a type is unknown. One thread at a time; the types that it returns
 * live as long as it does. Bounded: MOUNTS_TYPES_MAX types and MOUNTS_DEVICES_MAX devices.
 */
#pragma once

#include <stdint.h>

#include "table.h"

enum {
	MOUNTS_TYPES_MAX = 128,
	MOUNTS_DEVICES_MAX = 4096, /* beyond, all are forgotten and learnt anew */
	MOUNTS_TYPE_SIZE = 16,
};

struct mounts {
	const char *mountinfo; /* path of the file */
	struct table devices;  /* device → type */
	uint64_t read_ns;      /* when mountinfo was last read */
	size_t type_count;
	char types[MOUNTS_TYPES_MAX][MOUNTS_TYPE_SIZE];
};

int mounts_init(struct mounts *mounts, const char *mountinfo);
void mounts_done(struct mounts *mounts);

/* Learns that the device has this type (NUL padded, cut at MOUNTS_TYPE_SIZE - 1); returns the kept
 * text. */
const char *mounts_learn(struct mounts *mounts, uint32_t device, const char *type);

/* "" when unknown, and for device 0. */
const char *mounts_type(struct mounts *mounts, uint32_t device);
