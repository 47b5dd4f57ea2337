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
