/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Members of structs and unions, as BTF describes them. Any thread. */
#pragma once

#include <bpf/btf.h>
#include <stdint.h>

/*
 * The member's offset in bytes from the beginning of the type; -ENOENT: it has no such member. The BTF id of the
 * member's type, without typedefs and qualifiers, is stored in `*member_type` unless that is NULL.
 */
int member_offset(const struct btf *btf, uint32_t type, const char *name, uint32_t *member_type);

/*
 * The BTF id of the type of a map's values, without typedefs and qualifiers, as the object declares the map; 0: it does not.
 * bpf_map__btf_value_type_id() is another object's where the map is.
 */
uint32_t member_map_value(const struct btf *btf, const char *map);
