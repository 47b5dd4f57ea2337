// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/row_names.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "escape.h"
#include "pipeline/cells/disks.h"
#include "pipeline/cgroups/identity.h"
#include "pipeline/table.h"

#define MINOR_BITS 20
#define MINOR_MASK ((1u << MINOR_BITS) - 1)

struct row_names {
	enum row_name kind;
	struct groups *groups;
	struct disks disks;
	struct table known; /* numbers of devices or cgroups to their names, as many as the rows have */
};

int row_names_new(enum row_name kind, struct groups *groups, struct row_names **ret)
{
	struct row_names *names = calloc(1, sizeof(*names));

	if (!names || table_init(&names->known) < 0) {
		free(names);
		return -ENOMEM;
	}
	names->kind = kind;
	names->groups = groups;
	disks_init(&names->disks, "/sys/dev/block");
	*ret = names;
	return 0;
}

void row_names_free(struct row_names *names)
{
	if (!names)
		return;
	for (size_t i = 0; i <= names->known.mask; i++)
		free(names->known.slots[i].value);
	table_done(&names->known);
	free(names);
}

/* 0: the row has none. */
static uint32_t device_of(const struct iotr_record *record)
{
	switch (record->stream) {
	case IOTR_VFS:
		return ((const struct iotr_vfs_record *)record)->file.device;
	case IOTR_BLOCK:
		return ((const struct iotr_block_record *)record)->device;
	case IOTR_IOURING:
		return ((const struct iotr_iouring_record *)record)->file.device;
	case IOTR_CACHE:
		return ((const struct iotr_cache_record *)record)->file.device;
	case IOTR_PAGEFAULT:
		return ((const struct iotr_pagefault_record *)record)->file.device;
	default:
		return 0;
	}
}

/* A copy, escaped; NULL without memory. */
static char *escaped(const char *name)
{
	size_t length = strlen(name);
	char *copy = malloc(ESCAPE_MAX(length) + 1);

	if (copy)
		copy[escape_cell(name, length, copy)] = '\0';
	return copy;
}

static char *name_device(struct row_names *names, uint32_t device)
{
	const char *name = disks_name(&names->disks, device);
	char numbers[32];

	snprintf(numbers, sizeof(numbers), "%u:%u", device >> MINOR_BITS, device & MINOR_MASK);
	return escaped(*name ? name : numbers);
}

static char *name_cgroup(const struct row_names *names, uint64_t id)
{
	struct cgroup_identity identity = { 0 };
	char path[PATH_MAX];

	if (names->groups && groups_path(names->groups, id, path, sizeof(path)))
		cgroup_identify(path, &identity);
	return escaped(names->kind == ROW_NAME_UNIT ? identity.unit : identity.container_id);
}

struct row_text row_name(const struct row *row, void *userdata)
{
	struct row_names *names = userdata;
	uint64_t id = names->kind == ROW_NAME_DEVICE ? device_of(row->record) : row->record->cgroup_id;
	char *name = table_get(&names->known, id);

	if (!name && id) {
		name = names->kind == ROW_NAME_DEVICE ? name_device(names, (uint32_t)id) : name_cgroup(names, id);
		if (name && table_set(&names->known, id, name) < 0) {
			free(name);
			name = NULL;
		}
	}
	return (struct row_text){ .text = name ?: "", .length = name ? (uint32_t)strlen(name) : 0 };
}

bool row_stacked(const struct row *row, void *userdata)
{
	struct row_names *names = userdata;

	return !disks_leaf(&names->disks, ((const struct iotr_block_record *)row->record)->disk);
}
