// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/bequeath.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "fd_store.h"
#include "log.h"
#include "probes/functions.h"
#include "probes/inherit.h"
#include "probes/map_name.h"
#include "probes/program.h"

static void add_maps(const struct probes *probes, const struct bpf_object *object, struct bequest_parcel *parcel)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, object) {
		const char *name = map_shared_name(map);

		if (name && map_find(probes, name) == map)
			bequest_add(parcel, INHERIT_MAPS, name, bpf_map__fd(map));
	}
}

static void add_rings(const struct probes *probes, struct bequest_parcel *parcel)
{
	char name[BEQUEST_NAME_MAX];

	for (size_t i = 0; i < probes->ring_count; i++) {
		inherit_ring_name(name, i);
		bequest_add(parcel, INHERIT_MAPS, name, probes->rings[i]);
	}
}

static void add_programs(const struct probes *probes, enum object which, struct bequest_parcel *parcel)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, probes->objects[which]) {
		int fd = program_fd(probes, program);

		if (fd >= 0)
			bequest_add(parcel, which, bpf_program__name(program), fd);
	}
}

static void add_copy(const char *name, int program, void *userdata)
{
	bequest_add(userdata, INHERIT_COPIES, name, program);
}

static int leave(const struct probes *probes)
{
	_cleanup_free_ struct bequest_parcel *parcel = malloc(sizeof(*parcel));
	_cleanup_close_ int queue = -1;
	char key[BEQUEST_KEY_MAX];

	if (!parcel)
		return -ENOMEM;
	inherit_key(probes, key);
	bequest_begin(parcel, key, -1);
	add_rings(probes, parcel);
	for (enum object which = 0; which < OBJECT_COUNT; which++)
		if (probes->objects[which]) {
			add_maps(probes, probes->objects[which], parcel);
			add_programs(probes, which, parcel);
		}
	if (probes->functions)
		functions_each(probes->functions, add_copy, parcel);
	queue = bequest_end(parcel);
	return queue < 0 ? queue : fd_store_put(FD_STORE_PROGRAMS, queue);
}

void bequeath(const struct probes *probes)
{
	int r = leave(probes);

	if (r < 0)
		log_warning("the next start of iotracerd has to load all programs anew: %s", strerror(-r));
}
