// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/rodata.h"

#include <bpf/btf.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"

/* Byte offset of a constant in the object's read-only data, or -ENOENT. */
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

/* The constants to be set, each with its offset and size in struct rodata. */
#define CONSTANT(member) { #member, offsetof(struct rodata, member), sizeof(((struct rodata *)0)->member) }

static const struct {
	const char *name;
	size_t at, size;
} constants[] = { CONSTANT(typed_reads), CONSTANT(ring_shift), CONSTANT(preempted), CONSTANT(may_hold),
		CONSTANT(flow_cpu_bits), CONSTANT(text_key) };

int rodata_set(struct bpf_object *object, const struct rodata *values)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, ".rodata");
	const struct btf *btf = bpf_object__btf(object);
	_cleanup_free_ char *bytes = NULL;
	const void *initial;
	size_t size;

	if (!map)
		return 0;
	initial = bpf_map__initial_value(map, &size);
	bytes = malloc(size);
	if (!bytes)
		return -ENOMEM;
	memcpy(bytes, initial, size);
	for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]); i++) {
		int at = rodata_offset(btf, constants[i].name);

		if (at < 0)
			return -EINVAL;
		memcpy(bytes + at, (const char *)values + constants[i].at, constants[i].size);
	}
	return bpf_map__set_initial_value(map, bytes, size);
}
