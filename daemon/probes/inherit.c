// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/inherit.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cleanup.h"
#include "fd_store.h"
#include "log.h"
#include "probes/leave_behind.h"
#include "probes/map_empty.h"
#include "probes/map_name.h"

static void key_at(const struct probes *probes, enum probes_level level, char key[BEQUEST_KEY_MAX])
{
	snprintf(key, BEQUEST_KEY_MAX, "%s %016llx %s %d%d", IOTRACER_VERSION, (unsigned long long)probes->objects_hash,
		 probes_level_name(level), probes->kernel.typed_reads, probes->kernel.preempts);
}

void inherit_key(const struct probes *probes, char key[BEQUEST_KEY_MAX])
{
	key_at(probes, probes->level, key);
}

bool inherit_is_of(const struct probes *probes, int bequest, enum probes_level level)
{
	char key[BEQUEST_KEY_MAX];

	key_at(probes, level, key);
	return bequest >= 0 && bequest_waits(bequest, key);
}

/* What the control page has of the kernel, which is the same one: to find it anew takes longer than all else of a start. */
static const struct {
	size_t offset, size;
} found[] = {
#define FOUND(member) { offsetof(struct iotr_control, member), sizeof(((struct iotr_control *)0)->member) }
	FOUND(bio_ends), FOUND(btrfs), FOUND(loop), FOUND(stacking), FOUND(xfs), FOUND(changes), FOUND(bio_ends_version),
	FOUND(dirtied_mask), /* see dirtied_tidy() */
};

static int shared_empty(int map)
{
	size_t granule = (size_t)sysconf(_SC_PAGESIZE), size = (sizeof(struct iotr_control) + granule - 1) / granule * granule;
	char *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
	_cleanup_free_ char *before = malloc(sizeof(struct iotr_control));
	int r = page == MAP_FAILED ? -errno : before ? 0 : -ENOMEM;

	if (r == 0) {
		memcpy(before, page, sizeof(struct iotr_control));
		r = map_empty(map);
	}
	for (size_t i = 0; r == 0 && i < sizeof(found) / sizeof(found[0]); i++)
		memcpy(page + found[i].offset, before + found[i].offset, found[i].size);
	if (page != MAP_FAILED)
		munmap(page, size);
	return r;
}

static int empty(const char *name, int map)
{
	return strcmp(name, SHARED_MAP) ? map_empty(map) : shared_empty(map);
}

/*
 * Hooks that cannot be had are attached for some more seconds, or nobody knows: their programs use the maps, and would see what
 * the new ones see, so nothing is inherited then.
 */
static int prepare(struct probes *probes, int hooks)
{
	int r = hooks < 0 ? 0 : leave_behind_claim(hooks, &probes->left_hooks, &probes->left_hook_count);

	return r < 0 ? r : bequest_each(probes->bequest, INHERIT_MAPS, empty);
}

void inherit_begin(struct probes *probes, int bequest, int hooks)
{
	char key[BEQUEST_KEY_MAX];
	int r;

	inherit_key(probes, key);
	r = bequest < 0 ? -ENOENT : bequest_receive(bequest, key, 0, &probes->bequest);
	if (r >= 0)
		r = prepare(probes, hooks);
	if (hooks >= 0)
		fd_store_put(FD_STORE_HOOKS, -1);
	if (r >= 0)
		return;
	inherit_end(probes);
	if (r != -ENOENT)
		log_info("the last daemon's programs are loaded anew: %s",
			 r == -ESTALE ? "they are of another version or level" : strerror(-r));
}

int inherit_map(const struct probes *probes, const char *name)
{
	return probes->bequest ? bequest_find(probes->bequest, INHERIT_MAPS, name) : -1;
}

void inherit_ring_name(char name[BEQUEST_NAME_MAX], size_t ring)
{
	snprintf(name, BEQUEST_NAME_MAX, "row_ring/%zu", ring);
}

static bool ring_fits(int ring, uint32_t bytes)
{
	struct bpf_map_info info = { 0 };
	uint32_t size = sizeof(info);

	return ring >= 0 && bpf_obj_get_info_by_fd(ring, &info, &size) == 0 && info.type == BPF_MAP_TYPE_RINGBUF &&
	       info.max_entries == bytes;
}

/* How many entries it has may differ, as some maps get that when they are made; the shared one must be mapped as a whole. */
static bool map_fits(const struct bpf_map *map, int fd)
{
	struct bpf_map_info info = { 0 };
	uint32_t size = sizeof(info);

	return bpf_obj_get_info_by_fd(fd, &info, &size) == 0 && info.type == bpf_map__type(map) &&
	       info.key_size == bpf_map__key_size(map) && info.value_size == bpf_map__value_size(map) &&
	       info.max_entries >= bpf_map__max_entries(map) &&
	       !((info.map_flags ^ bpf_map__map_flags(map)) & BPF_F_MMAPABLE);
}

bool inherit_fits(const struct probes *probes, const struct bpf_object *object)
{
	const struct bpf_map *map;

	bpf_object__for_each_map(map, object) {
		const char *name = map_shared_name(map);
		int fd = name ? inherit_map(probes, name) : -1;

		if (fd >= 0 && !map_fits(map, fd))
			return false;
	}
	return true;
}

bool inherit_rings(const struct probes *probes, int *rings, size_t count, uint32_t bytes)
{
	char name[BEQUEST_NAME_MAX];

	for (size_t i = 0; i < count; i++) {
		inherit_ring_name(name, i);
		if (!ring_fits(inherit_map(probes, name), bytes))
			return false;
	}
	for (size_t i = 0; i < count; i++) {
		inherit_ring_name(name, i);
		rings[i] = bequest_take(probes->bequest, INHERIT_MAPS, name);
	}
	return true;
}

/* Maps that a loaded object has are those that this object has had, too: a name is of one map. */
static bool maps_there(const struct probes *probes, const struct bpf_object *object)
{
	const struct bpf_map *map;

	bpf_object__for_each_map(map, object) {
		const char *name = map_shared_name(map);

		if (name && inherit_map(probes, name) < 0)
			return false;
	}
	return true;
}

static int one_found(const char *name, int fd)
{
	(void)name, (void)fd;
	return -EEXIST;
}

bool inherit_any(const struct probes *probes, enum object which)
{
	return probes->bequest && bequest_each(probes->bequest, which, one_found) < 0;
}

bool inherit_has(const struct probes *probes, enum object which, const struct bpf_program *program)
{
	return bequest_find(probes->bequest, which, bpf_program__name(program)) >= 0;
}

/* Of the right type, too: another one could be attached in its place. */
static bool program_there(const struct probes *probes, enum object which, const struct bpf_program *program)
{
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info);
	int fd = bequest_find(probes->bequest, which, bpf_program__name(program));

	return fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &size) == 0 && info.type == (uint32_t)bpf_program__type(program);
}

static size_t programs_there(const struct probes *probes, enum object which, const struct bpf_object *object)
{
	struct bpf_program *program;
	size_t count = 0;

	bpf_object__for_each_program(program, object) {
		if (!bpf_program__autoload(program))
			continue;
		if (!program_there(probes, which, program))
			return SIZE_MAX;
		count++;
	}
	return count;
}

static void programs_take(struct probes *probes, enum object which, struct bpf_object *object)
{
	struct inherited *inherited = &probes->inherited[which];
	struct bpf_program *program;

	bpf_object__for_each_program(program, object)
		if (bpf_program__autoload(program))
			inherited->programs[inherited->count++] = (struct inherited_program){
				program, bequest_take(probes->bequest, which, bpf_program__name(program))
			};
}

int inherit_object(struct probes *probes, enum object which, struct bpf_object *object)
{
	size_t count;

	if (!probes->bequest || !maps_there(probes, object))
		return -ENOENT;
	count = programs_there(probes, which, object);
	if (count == SIZE_MAX)
		return -ENOENT;
	probes->inherited[which].programs = calloc(count + 1, sizeof(struct inherited_program));
	if (!probes->inherited[which].programs)
		return -ENOMEM;
	programs_take(probes, which, object);
	return 0;
}

int inherit_copy(const char *name, void *userdata)
{
	struct probes *probes = userdata;

	return bequest_take(probes->bequest, INHERIT_COPIES, name);
}

void inherit_end(struct probes *probes)
{
	bequest_free(TAKE(probes->bequest));
	if (probes->left_hook_count)
		leave_behind(probes->left_hooks, probes->left_hook_count);
	while (probes->left_hook_count)
		close(probes->left_hooks[--probes->left_hook_count]);
	free(TAKE(probes->left_hooks));
}
