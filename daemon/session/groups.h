/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cgroups of the machine while sessions run, also those that have vanished: what the column cgroup_id stands for. One
 * table for all sessions, which is empty when none runs. Cgroups are made and removed far more seldom than rows come:
 * programs of their own tell of that, and a walk over the hierarchy of those that were there before. Main thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "errand.h"
#include "pipeline/cgroups/list.h"

enum {
	GROUPS_MAX = 65536,	/* in the table; what comes then is counted */
	GROUPS_PATH_MAX = 8192, /* of a path's bytes; of a longer one the end is told */
};

struct groups;

/* Begins to load the programs, which a thread does. */
int groups_new(sd_event *event, struct errands *errands, struct groups **ret);
void groups_free(struct groups *groups); /* after errands_end(); takes NULL */

/*
 * A session begins, before its first row; and ends. The first one may wait for the programs to be loaded, which they
 * are long before those of its rows. All that take a table do nothing if it is NULL.
 */
void groups_begin(struct groups *groups);
void groups_end(struct groups *groups);

/* Changes whenever a list would. Takes what has come and gone by now, and has to be called every second or so. */
uint64_t groups_version(struct groups *groups);

/*
 * The cgroups that were there at some time since then (CLOCK_MONOTONIC), with all that happened by now. May wait some
 * milliseconds for the first walk. NULL without memory, or without a table.
 */
struct cgroup_list *groups_list(struct groups *groups, uint64_t since_ns);

/* Writes the path of a cgroup into `path`; false: it is not known, or not yet. */
bool groups_path(struct groups *groups, uint64_t id, char *path, size_t size);

/* Nobody needs cgroups that had vanished by then. Takes effect when the table is half full. */
void groups_forget(struct groups *groups, uint64_t before_ns);
