// SPDX-License-Identifier: GPL-2.0-or-later
/* Values that columns of several streams have: texts, flags by name, two paths. */
#include "cells_private.h"
#include "two_names.h"

struct cell cell_string(const char *text)
{
	return cell_bytes(text, strlen(text));
}

static size_t decode(enum cells_flags_kind which, enum iotr_flag_kind kind, uint32_t file_flags,
		     uint32_t flags, char *text)
{
	switch (which) {
	case CELLS_FLAGS_PROTECTION:
		return flags_protection(flags, text);
	case CELLS_FLAGS_MAPPING:
		return flags_mapping(flags, text);
	case CELLS_FLAGS_BLOCK:
		return flags_block(flags, text);
	default:
		return flags_vfs(kind, file_flags, flags, text);
	}
}

static void keep_flags(struct cells_flags *slot, uint32_t group, uint32_t file_flags, uint32_t flags, const char *text,
		       size_t length)
{
	*slot = (struct cells_flags){ .valid = true,
				      .group = group,
				      .file_flags = file_flags,
				      .flags = flags,
				      .length = (uint32_t)length };
	memcpy(slot->text, text, length);
}

/* The text is the row's own: the slot may become that of other flags of the same row. */
struct cell cell_flags(struct cells *cells, enum cells_flags_kind which, enum iotr_flag_kind kind,
		       uint32_t file_flags, uint32_t flags)
{
	uint32_t group = (uint32_t)which << 8 | kind;
	uint64_t hash = cells_hash(((uint64_t)file_flags << 32 | flags) + group * 0x1000193ULL);
	struct cells_flags *slot = &cells->flags[hash % CELLS_FLAGS_CACHED];
	char *text = cells->flags_text + cells->flags_used;
	size_t length;

	if (slot->valid && slot->group == group && slot->file_flags == file_flags && slot->flags == flags) {
		length = slot->length;
		memcpy(text, slot->text, length);
	} else {
		length = decode(which, kind, file_flags, flags, text);
		if (length <= sizeof(slot->text))
			keep_flags(slot, group, file_flags, flags, text, length);
	}
	cells->flags_used += length;
	return cell_bytes(text, length);
}

struct cell cell_pair(struct cells *cells, const struct row *row)
{
	return cell_bytes(cells->pair, two_names_join(row, cells->pair));
}
