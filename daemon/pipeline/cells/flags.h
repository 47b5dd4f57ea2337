/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flags as names joined by '|'; a bit without a name is kept in hex. Constant tables, usable from
 * any thread; flags_set_block_bits() is called once, before any row is formatted.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "record.h"

enum {
	FLAGS_TEXT_MAX = 768, /* bytes: every name of the longest table, and hex */
};

/* Each writes at most FLAGS_TEXT_MAX bytes without a NUL, and returns how many. */
size_t flags_vfs(enum iotr_flag_kind kind, uint32_t file_flags, uint32_t flags, char *text);
size_t flags_protection(uint32_t protection, char *text);
size_t flags_mapping(uint32_t mapping, char *text);
size_t flags_block(uint32_t flags, char *text);

/* Sets the names of the bits of a block request's flags, NULL where there is none; kept, not copied. */
void flags_set_block_bits(const char *const names[32]);
