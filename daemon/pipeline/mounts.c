// SPDX-License-Identifier: GPL-2.0-or-later
#include "mounts.h"

#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "clocks.h"
#include "mount_list.h"

#define READ_AGAIN_NS 1000000000ULL

int mounts_init(struct mounts *mounts, const char *mountinfo)
{
	mounts->mountinfo = mountinfo;
	mounts->read_ns = 0;
	mounts->type_count = 0;
	return table_init(&mounts->devices);
}

void mounts_done(struct mounts *mounts)
{
	table_done(&mounts->devices);
}

static const char *intern(struct mounts *mounts, const char *type)
{
	for (size_t i = 0; i < mounts->type_count; i++)
		if (!strncmp(mounts->types[i], type, MOUNTS_TYPE_SIZE - 1))
			return mounts->types[i];
	if (mounts->type_count == MOUNTS_TYPES_MAX)
		return "";
	snprintf(mounts->types[mounts->type_count], MOUNTS_TYPE_SIZE, "%.*s", MOUNTS_TYPE_SIZE - 1,
		 type);
	return mounts->types[mounts->type_count++];
}

const char *mounts_learn(struct mounts *mounts, uint32_t device, const char *type)
{
	const char *known = device ? table_get(&mounts->devices, device) : NULL;

	if (!type[0] || (known && !strncmp(known, type, MOUNTS_TYPE_SIZE - 1)))
		return known ? known : "";
	if (mounts->devices.count >= MOUNTS_DEVICES_MAX) {
		table_done(&mounts->devices);
		if (table_init(&mounts->devices) < 0)
			return "";
	}
	type = intern(mounts, type);
	if (device && type[0])
		table_set(&mounts->devices, device, (void *)type);
	return type;
}

static void read_mountinfo(struct mounts *mounts)
{
	_cleanup_(mount_list_done) struct mount_list list;
	struct mount_entry entry;

	if (mount_list_read(mounts->mountinfo, &list) < 0)
		return;
	while (mount_list_next(&list, &entry))
		mounts_learn(mounts, entry.device, entry.type);
}

const char *mounts_type(struct mounts *mounts, uint32_t device)
{
	const char *type = device ? table_get(&mounts->devices, device) : "";
	uint64_t now;

	if (type)
		return type;
	now = clocks_mono_ns();
	if (mounts->read_ns && now - mounts->read_ns < READ_AGAIN_NS)
		return "";
	mounts->read_ns = now;
	read_mountinfo(mounts);
	type = table_get(&mounts->devices, device);
	return type ? type : "";
}
