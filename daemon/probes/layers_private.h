/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the sources that implement layers.h. */
#pragma once

#include "probes/layers.h"

/* ---- layers_disks.c: which disks are made of others. Main thread. ---- */

enum {
	LAYERS_DISKS = 256, /* that are remembered, at most */
};

struct layers_disks {
	struct {
		uint32_t device;
		bool stacked;
		bool fresh; /* looked at since disks_look_again() */
	} known[LAYERS_DISKS];
	size_t count;
};

/* What was found out may have changed. */
void disks_look_again(struct layers_disks *disks);

/*
 * Whether a disk's requests become requests of other disks, which count instead: device mapper, md, the head of an NVMe
 * multipath, and a loop device unless its file is in memory. Of one that is gone, what was known of it.
 */
bool disk_is_stacked(struct layers_disks *disks, uint32_t device);

/* ---- layers_families.c: the map layer_families, by its descriptor; see layers_follow() and the like ---- */

int families_add(int map, uint32_t process, uint32_t command);
void families_drop(int map, uint32_t command);
uint32_t families_find(int map, const struct iotr_layer_key *key);

/* ---- layers_missing.c: what is not counted for want of a hook ---- */

enum {
	LAYERS_MISSING = 28, /* at most */
};

/*
 * Writes what this kernel cannot tell, given whether each program is attached, and returns how many there are. `missing`
 * has room for LAYERS_MISSING.
 */
size_t missing_find(const struct bpf_object *object, bool (*attached)(const struct bpf_program *, const void *),
		    const void *userdata, struct layers_missing *missing);
