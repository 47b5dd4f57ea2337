// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/member.h"

#include <errno.h>
#include <string.h>

int member_offset(const struct btf *btf, uint32_t type, const char *name, uint32_t *member_type)
{
	const struct btf_type *from = btf__type_by_id(btf, type);
	const struct btf_member *members;

	if (!from || !btf_is_composite(from))
		return -ENOENT;
	members = btf_members(from);
	for (int i = 0; i < btf_vlen(from); i++) {
		if (strcmp(btf__name_by_offset(btf, members[i].name_off), name))
			continue;
		if (member_type)
			*member_type = btf__resolve_type(btf, members[i].type);
		return (int)btf_member_bit_offset(from, i) / 8;
	}
	return -ENOENT;
}

/* A map is a variable whose type has a member `value`, a pointer to the type of its values. */
uint32_t member_map_value(const struct btf *btf, const char *map)
{
	int variable = btf ? btf__find_by_name_kind(btf, map, BTF_KIND_VAR) : -ENOENT;
	const struct btf_type *pointer;
	uint32_t declared, type = 0;

	if (variable < 0)
		return 0;
	declared = (uint32_t)btf__resolve_type(btf, btf__type_by_id(btf, (uint32_t)variable)->type);
	if (member_offset(btf, declared, "value", &type) < 0)
		return 0;
	pointer = btf__type_by_id(btf, type);
	return pointer && btf_is_ptr(pointer) ? (uint32_t)btf__resolve_type(btf, pointer->type) : 0;
}
