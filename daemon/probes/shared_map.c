// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/shared_map.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cleanup.h"

#define AT_ONCE 1024 /* slots that are mapped at once */

int shared_map_create(struct bpf_map *map)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
	_cleanup_close_ int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "shared.bss", sizeof(uint32_t), bpf_map__value_size(map), 1, &options);

	return fd < 0 ? fd : bpf_map__reuse_fd(map, fd);
}

static const struct {
	const char *name;
	size_t offset;
} variables[] = {
#define VARIABLE(name) { #name, offsetof(struct iotr_shared, name) }
	VARIABLE(control), VARIABLE(draws), VARIABLE(slots), VARIABLE(plugged), VARIABLE(parked),
};

static bool variable_fits(const char *name, size_t offset)
{
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		if (!strcmp(variables[i].name, name))
			return variables[i].offset == offset;
	return false;
}

bool shared_map_fits(const struct bpf_object *object)
{
	const struct btf *btf = bpf_object__btf(object);
	int id = btf ? btf__find_by_name_kind(btf, ".bss", BTF_KIND_DATASEC) : -ENOENT;
	const struct btf_type *section = id < 0 ? NULL : btf__type_by_id(btf, (uint32_t)id);
	const struct btf_var_secinfo *variable = section ? btf_var_secinfos(section) : NULL;

	for (int i = 0; section && i < btf_vlen(section); i++) {
		const struct btf_type *type = btf__type_by_id(btf, variable[i].type);

		if (!variable_fits(btf__name_by_offset(btf, type->name_off), variable[i].offset))
			return false;
	}
	return true;
}

int shared_map_slots(int map, size_t offset, size_t count, int (*call)(const struct slot *slot, void *userdata), void *userdata)
{
	size_t granule = (size_t)sysconf(_SC_PAGESIZE), end = offset + count * sizeof(struct slot);
	int r = 0;

	for (; offset < end && r == 0; offset += AT_ONCE * sizeof(struct slot)) {
		size_t from = offset / granule * granule, left = (end - offset) / sizeof(struct slot);
		size_t some = left < AT_ONCE ? left : AT_ONCE, bytes = offset - from + some * sizeof(struct slot);
		char *window = mmap(NULL, bytes, PROT_READ, MAP_SHARED, map, (off_t)from);
		const struct slot *slots = (const void *)(window + (offset - from));

		if (window == MAP_FAILED)
			return -errno;
		for (size_t i = 0; i < some && r == 0; i++)
			r = call(&slots[i], userdata);
		munmap(window, bytes);
	}
	return r;
}
