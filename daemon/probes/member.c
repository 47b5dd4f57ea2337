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
