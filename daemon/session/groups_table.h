/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cgroups by their id, each with the id of the one above it: a path is put together when it is asked for, so that it does
 * not matter in which order a walk and events tell of cgroups. An id is never used again. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cgroup_event.h"
#include "pipeline/cgroups/list.h"

struct group;

struct groups_table {
	struct group **buckets; /* NULL: it is empty */
	size_t count;
	uint64_t version;     /* changes with the content */
	uint64_t left_out;    /* cgroups for which there was no room */
	uint64_t left_out_ns; /* CLOCK_MONOTONIC: when that was last so */
	uint32_t walks;	      /* that were merged */
};

/* What a walk has found, before it is merged. */
struct groups_found {
	struct group *first;
	size_t count;
	uint64_t left_out; /* beyond GROUPS_MAX, or without memory */
};

void groups_found_add(struct groups_found *found, uint64_t id, uint64_t parent, const char *name);
void groups_found_done(struct groups_found *found);

/* A cgroup was made or removed. One that is not known yet when it is removed was there before. */
void groups_table_add(struct groups_table *table, const struct iotr_cgroup_event *event);

/*
 * Takes over what a walk has found. `all`: what is in the table, was there when the walk began, and was not found has
 * vanished since the table was last told of it.
 */
void groups_table_merge(struct groups_table *table, struct groups_found *found, uint64_t began_ns, bool all);

/* Drops those that vanished before. */
void groups_table_forget(struct groups_table *table, uint64_t before_ns);
void groups_table_clear(struct groups_table *table);

/*
 * Path of a group, put together in a buffer of GROUPS_PATH_MAX bytes; NULL: it is not known. `whole` as below.
 */
const char *groups_table_path(const struct groups_table *table, uint64_t id, bool whole, char *buffer);

/*
 * Adds those that were there in the list's time, and says how many are left out. `whole`: paths begin at the root of the
 * hierarchy; otherwise with "...", as does any whose beginning is not known. -ENOMEM.
 */
int groups_table_list(const struct groups_table *table, struct cgroup_list *list, bool whole);
