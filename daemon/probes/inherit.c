// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/inherit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "fd_store.h"
#include "log.h"
#include "probes/leave_behind.h"
#include "probes/map_empty.h"

void inherit_key(const struct probes *probes, char key[BEQUEST_KEY_MAX])
{
	snprintf(key, BEQUEST_KEY_MAX, "%s %016llx %s %d%d", IOTRACER_VERSION, (unsigned long long)probes->objects_hash,
		 probes_level_name(probes->level), probes->kernel.typed_reads, probes->kernel.preempts);
}

/*
 * Hooks that cannot be had are attached for some more seconds, or nobody knows: their programs use the maps, and would see what
 * the new ones see, so nothing is inherited then.
 */
static int prepare(struct probes *probes, int hooks)
{
	int r = hooks < 0 ? 0 : leave_behind_claim(hooks, &probes->left_hooks, &probes->left_hook_count);

	return r < 0 ? r : bequest_each(probes->bequest, INHERIT_MAPS, map_empty);
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

/* Maps that a loaded object has are those that this object has had, too: a name is of one map. */
static bool maps_there(const struct probes *probes, const struct bpf_object *object)
{
	const struct bpf_map *map;

	bpf_object__for_each_map(map, object)
		if (!bpf_map__is_internal(map) && inherit_map(probes, bpf_map__name(map)) < 0)
			return false;
	return true;
}

static size_t programs_there(const struct probes *probes, enum object which, const struct bpf_object *object)
{
	struct bpf_program *program;
	size_t count = 0;

	bpf_object__for_each_program(program, object) {
		if (!bpf_program__autoload(program))
			continue;
		if (bequest_find(probes->bequest, which, bpf_program__name(program)) < 0)
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
