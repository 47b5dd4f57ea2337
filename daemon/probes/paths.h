/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tree of folders that path filters name: see struct iotr_path_node. It stands in the control
 * page; the maps of the kernel side lead into it. Main thread.
 */
#pragma once

#include "probes/filter_error.h"
#include "probes/probes.h"
#include "session.h"

/* Whether the files and folders are there, and can be told from others. */
int paths_check(const struct iotr_session_spec *spec, struct filter_error *error);

/* Makes the session's bit accept what the spec names, and all below. */
int paths_set(struct probes *probes, uint64_t bit, const struct iotr_session_spec *spec,
	      struct filter_error *error);

/* Takes the bit away, and the folders that nobody else needs. */
void paths_clear(struct probes *probes, uint64_t bit);

/* A part of a path as the kernel side reckons it: see path_name.h. At most 255 bytes. */
uint64_t paths_part(const char *name, size_t length);
