// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/rodata.h"

#include <bpf/btf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"

/* Where a constant of the object lies in its read-only data, or -ENOENT. */
static int rodata_offset(const struct btf *btf, const char *name)
{
	int id = btf__find_by_name_kind(btf, ".rodata", BTF_KIND_DATASEC);
	const struct btf_type *section = id < 0 ? NULL : btf__type_by_id(btf, id);
	const struct btf_var_secinfo *variables = section ? btf_var_secinfos(section) : NULL;

	for (unsigned int i = 0; section && i < btf_vlen(section); i++) {
		const struct btf_type *variable = btf__type_by_id(btf, variables[i].type);

		if (!strcmp(btf__name_by_offset(btf, variable->name_off), name))
			return variables[i].offset;
	}
	return -ENOENT;
}

int rodata_set(struct bpf_object *object, bool typed_reads, uint32_t ring_shift)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, ".rodata");
	const struct btf *btf = bpf_object__btf(object);
	int typed_at = rodata_offset(btf, "typed_reads"), shift_at = rodata_offset(btf, "ring_shift");
	_cleanup_free_ char *bytes = NULL;
	const void *initial;
	size_t size;

	if (!map || typed_at < 0 || shift_at < 0)
		return map ? -EINVAL : 0;
	initial = bpf_map__initial_value(map, &size);
	bytes = malloc(size);
	if (!bytes)
		return -ENOMEM;
	memcpy(bytes, initial, size);
	memcpy(bytes + typed_at, &typed_reads, sizeof(typed_reads));
	memcpy(bytes + shift_at, &ring_shift, sizeof(ring_shift));
	return bpf_map__set_initial_value(map, bytes, size);
}
