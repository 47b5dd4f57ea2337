/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tree of folders that path filters name, see struct iotr_path_node: it is in the control page, and
 * BPF maps find its nodes. Main thread.
 */
#pragma once

#include "probes/filter_error.h"
#include "probes/paths_find.h"
#include "probes/probes.h"

/* Sets the session's bit for what was found, and all below. Does not wait for a disk. */
int paths_set(struct probes *probes, uint64_t bit, const struct paths_found *found,
	      struct filter_error *error);

/* Clears the session's bit, and removes folders that no other session needs. */
void paths_clear(struct probes *probes, uint64_t bit);
