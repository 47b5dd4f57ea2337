// SPDX-License-Identifier: GPL-2.0-or-later
#include "names_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tree.h"

int names_new(const struct names_config *config, struct names **ret)
{
	struct names *names = calloc(1, sizeof(*names));

	if (!names)
		return -ENOMEM;
	names->config = *config;
	if (!config->names_max)
		names->config.names_max = NAMES_MAX;
	if (!config->bytes_max)
		names->config.bytes_max = NAMES_BYTES_MAX;
	if (!config->waiting_max)
		names->config.waiting_max = NAMES_WAITING_MAX;
	if (!config->waiting_bytes_max)
		names->config.waiting_bytes_max = NAMES_WAITING_BYTES_MAX;
	TAILQ_INIT(&names->dying);
	names->epoch = 1;
	names->room = names->config.names_max + names->config.waiting_max + 1;
	names->ring = calloc(names->room, sizeof(*names->ring));
	if (!names->ring || table_init(&names->by_id) < 0 || table_init(&names->by_inode) < 0 ||
	    mounts_init(&names->mounts, tree_mounts()) < 0) {
		names_free(names);
		return -ENOMEM;
	}
	*ret = names;
	return 0;
}

static uint64_t inode_key(uint32_t device, uint64_t inode)
{
	return inode ^ (uint64_t)device * 0xd6e8feb86659fd93ULL;
}

static void name_free(struct name *name)
{
	free(name->path);
	free(name);
}

void names_free(struct names *names)
{
	if (!names)
		return;
	for (uint32_t i = 0; i < names->count; i++)
		name_free(names->ring[i]);
	free(names->ring);
	table_done(&names->by_id);
	table_done(&names->by_inode);
	mounts_done(&names->mounts);
	free(names);
}

static void set_dying(struct names *names, struct name *name, bool dying)
{
	if (name->dying == dying)
		return;
	name->dying = dying;
	if (dying) {
		name->died_in = names->cycle;
		names->dying_count++;
		names->dying_bytes += name_size(name);
		TAILQ_INSERT_TAIL(&names->dying, name, dying_entry);
	} else {
		names->dying_count--;
		names->dying_bytes -= name_size(name);
		TAILQ_REMOVE(&names->dying, name, dying_entry);
	}
}

static void remove_name(struct names *names, struct name *name)
{
	uint64_t key = inode_key(name->device, name->inode);
	struct name *last = names->ring[--names->count];

	set_dying(names, name, false);
	names->ring[name->position] = last;
	last->position = name->position;
	names->bytes -= name_size(name);
	table_remove(&names->by_id, name->id);
	if (table_get(&names->by_inode, key) == name)
		table_remove(&names->by_inode, key);
	name_free(name);
}

static void forget(struct names *names, uint64_t id)
{
	if (names->config.forget)
		names->config.forget(id, names->config.userdata);
}

static void evict(struct names *names, struct name *name)
{
	names->counts.evicted++;
	if (!(name->flags & IOTR_NAME_TRANSIENT))
		forget(names, name->id);
	set_dying(names, name, true);
}

static bool too_many(const struct names *names)
{
	return names->count - names->dying_count >= names->config.names_max ||
	       names->bytes - names->dying_bytes >= names->config.bytes_max;
}

/* Evicts by the CLOCK algorithm: a name that was used since the hand last passed is spared once. */
static void make_room(struct names *names)
{
	while (too_many(names) && names->count > names->dying_count) {
		struct name *name;

		names->hand = names->hand + 1 < names->count ? names->hand + 1 : 0;
		name = names->ring[names->hand];
		if (name->used)
			name->used = false;
		else if (!name->dying)
			evict(names, name);
	}
}

void names_cycle_end(struct names *names)
{
	uint64_t ended = names->cycle++;

	for (;;) {
		struct name *name = TAILQ_FIRST(&names->dying);

		if (!name || name->died_in >= ended)
			break;
		remove_name(names, name);
	}
}

static bool same_name(const struct name *name, const struct iotr_name_record *record)
{
	return name->parent == record->parent && name->length == record->length &&
	       name->device == record->device && name->inode == record->inode &&
	       !memcmp(name->text, record->text, record->length);
}

/* A known name comes again: the kernel side has forgotten that it sent it, or the file was deleted. */
static void refresh(struct names *names, struct name *name, const struct iotr_name_record *record)
{
	set_dying(names, name, false);
	name->used = true;
	if (name->flags == record->flags)
		return;
	name->flags = record->flags;
	name->path_epoch = 0;
}

static struct name *name_new(struct names *names, const struct iotr_name_record *record)
{
	struct name *name = calloc(1, sizeof(*name) + record->length);

	if (!name)
		return NULL;
	name->id = record->id;
	name->parent = record->parent;
	name->inode = record->inode;
	name->device = record->device;
	name->flags = record->flags;
	name->length = record->length;
	name->used = true;
	memcpy(name->text, record->text, record->length);
	name->fs_type = mounts_learn(&names->mounts, record->device, record->fs_type);
	return name;
}

static int insert(struct names *names, struct name *name)
{
	if (table_set(&names->by_id, name->id, name) < 0)
		return -ENOMEM;
	if (name->inode && !(name->flags & IOTR_NAME_TRANSIENT))
		table_set(&names->by_inode, inode_key(name->device, name->inode), name);
	name->position = names->count;
	names->ring[names->count++] = name;
	names->bytes += name_size(name);
	names->counts.added++;
	return 0;
}

static int refuse(struct names *names, uint64_t id)
{
	names->counts.refused++;
	forget(names, id);
	return -ENOSPC;
}

/* Whether no name can be added: evicted names take room until their cycle ends, within bounds. */
static bool is_full(const struct names *names)
{
	return names->count == names->room ||
	       names->bytes >= names->config.bytes_max + names->config.waiting_bytes_max;
}

static bool record_valid(const struct iotr_name_record *record, size_t size)
{
	return size >= sizeof(*record) && record->length <= size - sizeof(*record) &&
	       record->length < IOTR_NAME_TEXT_MAX && record->id;
}

int names_add(struct names *names, const struct iotr_name_record *record, size_t size)
{
	struct name *name;

	if (!record_valid(record, size))
		return -EINVAL;
	if (record->flags & IOTR_NAME_GONE) {
		names_drop(names, record->id);
		return 0;
	}
	name = table_get(&names->by_id, record->id);
	if (name && same_name(name, record)) {
		refresh(names, name, record);
		return 0;
	}
	if (name) {
		remove_name(names, name);
		names->epoch++;
	}
	make_room(names);
	if (is_full(names))
		return refuse(names, record->id);
	name = name_new(names, record);
	if (!name)
		return refuse(names, record->id);
	if (insert(names, name) < 0) {
		name_free(name);
		return refuse(names, record->id);
	}
	return 0;
}

void names_resend(struct names *names, uint64_t id)
{
	const struct name *name;

	for (unsigned int depth = 0; id && depth < NAMES_DEPTH_MAX; depth++) {
		forget(names, id);
		name = table_get(&names->by_id, id);
		id = name ? name->parent : 0;
	}
}

bool names_resolve(struct names *names, uint64_t id, struct names_path *path)
{
	struct name *name = table_get(&names->by_id, id);

	return name && name_describe(names, name, path);
}

bool names_inode(struct names *names, uint32_t device, uint64_t inode, struct names_path *path)
{
	struct name *name = table_get(&names->by_inode, inode_key(device, inode));

	return name && name->device == device && name->inode == inode &&
	       name_describe(names, name, path);
}

void names_drop(struct names *names, uint64_t id)
{
	struct name *name = table_get(&names->by_id, id);

	if (name && name->flags & IOTR_NAME_TRANSIENT)
		remove_name(names, name);
}

const char *names_device_fs(struct names *names, uint32_t device)
{
	return mounts_type(&names->mounts, device);
}

void names_counts(const struct names *names, struct names_counts *counts)
{
	*counts = names->counts;
	counts->names = names->count;
	counts->bytes = names->bytes;
}
