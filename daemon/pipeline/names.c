// SPDX-License-Identifier: GPL-2.0-or-later
#include "names_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tree.h"

static int pool_init(struct pool *pool, const struct names_config *config, uint32_t share)
{
	pool->most = config->names_max / share;
	pool->bytes_most = config->bytes_max / share;
	pool->bytes_full = pool->bytes_most + config->waiting_bytes_max / share;
	pool->room = pool->most + config->waiting_max / share + 1;
	pool->all = calloc(pool->room, sizeof(*pool->all));
	TAILQ_INIT(&pool->dying);
	return pool->all ? 0 : -ENOMEM;
}

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
	names->epoch = 1;
	if (pool_init(&names->pools[POOL_FILES], &names->config, 1) < 0 ||
	    pool_init(&names->pools[POOL_ARGUMENTS], &names->config, NAMES_ARGUMENTS_SHARE) < 0 ||
	    table_init(&names->by_id) < 0 || table_init(&names->by_inode) < 0 || mounts_init(&names->mounts, tree_mounts()) < 0) {
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
	for (struct pool *pool = names->pools; pool < names->pools + POOL_COUNT; pool++) {
		for (uint32_t i = 0; i < pool->count; i++)
			name_free(pool->all[i]);
		free(pool->all);
	}
	table_done(&names->by_id);
	table_done(&names->by_inode);
	mounts_done(&names->mounts);
	free(names);
}

static void set_dying(struct names *names, struct name *name, bool dying)
{
	struct pool *pool = name_pool(names, name->flags);

	if (name->dying == dying)
		return;
	name->dying = dying;
	if (dying) {
		name->died_in = names->cycle;
		pool->dying_count++;
		pool->dying_bytes += name_size(name);
		TAILQ_INSERT_TAIL(&pool->dying, name, dying_entry);
	} else {
		pool->dying_count--;
		pool->dying_bytes -= name_size(name);
		TAILQ_REMOVE(&pool->dying, name, dying_entry);
	}
}

static void remove_name(struct names *names, struct name *name)
{
	uint64_t key = inode_key(name->device, name->inode);
	struct pool *pool = name_pool(names, name->flags);
	struct name *last = pool->all[--pool->count];

	set_dying(names, name, false);
	pool->all[name->position] = last;
	last->position = name->position;
	pool->bytes -= name_size(name);
	table_remove(&names->by_id, name->id);
	if (name->inode && table_get(&names->by_inode, key) == name)
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
	forget(names, name->id);
	set_dying(names, name, true);
}

static bool too_many(const struct pool *pool)
{
	return pool->count - pool->dying_count >= pool->most || pool->bytes - pool->dying_bytes >= pool->bytes_most;
}

/* Evicts by the CLOCK algorithm: a name that was used since the hand last passed is spared once. */
static void make_room(struct names *names, struct pool *pool)
{
	while (too_many(pool) && pool->count > pool->dying_count) {
		struct name *name;

		pool->hand = pool->hand + 1 < pool->count ? pool->hand + 1 : 0;
		name = pool->all[pool->hand];
		if (name->used)
			name->used = false;
		else if (!name->dying)
			evict(names, name);
	}
}

static void bury(struct names *names, struct pool *pool, uint64_t ended)
{
	for (;;) {
		struct name *name = TAILQ_FIRST(&pool->dying);

		if (!name || name->died_in >= ended)
			break;
		remove_name(names, name);
	}
}

void names_cycle_end(struct names *names)
{
	uint64_t ended = names->cycle++;

	for (int kind = 0; kind < POOL_COUNT; kind++)
		bury(names, &names->pools[kind], ended);
}

static bool same_name(const struct name *name, const struct iotr_name_record *record)
{
	return name->parent == record->parent && name->length == record->length &&
	       name->device == record->device && name->inode == record->inode &&
	       !((name->flags ^ record->flags) & IOTR_NAME_ARGUMENT) && !memcmp(name->text, record->text, record->length);
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
	struct pool *pool = name_pool(names, name->flags);

	if (table_set(&names->by_id, name->id, name) < 0)
		return -ENOMEM;
	if (name->inode)
		table_set(&names->by_inode, inode_key(name->device, name->inode), name);
	name->position = pool->count;
	pool->all[pool->count++] = name;
	pool->bytes += name_size(name);
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
static bool is_full(const struct pool *pool)
{
	return pool->count == pool->room || pool->bytes >= pool->bytes_full;
}

static bool record_valid(const struct iotr_name_record *record, size_t size)
{
	return size >= sizeof(*record) && record->length <= size - sizeof(*record) &&
	       record->length < IOTR_NAME_TEXT_MAX && record->id;
}

int names_add(struct names *names, const struct iotr_name_record *record, size_t size)
{
	struct name *name;
	struct pool *pool;

	if (!record_valid(record, size))
		return -EINVAL;
	name = table_get(&names->by_id, record->id);
	if (name && same_name(name, record)) {
		refresh(names, name, record);
		return 0;
	}
	if (name) {
		remove_name(names, name);
		names->epoch++;
	}
	pool = name_pool(names, record->flags);
	make_room(names, pool);
	if (is_full(pool))
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

const char *names_device_fs(struct names *names, uint32_t device)
{
	return mounts_type(&names->mounts, device);
}

void names_counts(const struct names *names, struct names_counts *counts)
{
	*counts = names->counts;
	for (int kind = 0; kind < POOL_COUNT; kind++) {
		counts->names += names->pools[kind].count;
		counts->bytes += names->pools[kind].bytes;
	}
}
