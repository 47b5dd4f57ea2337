/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Folios, or pages on kernels without struct folio. */
#pragma once

#include "files.bpf.h"

#define MAPPING_FLAGS 3	 /* low bits of a folio's mapping: it is no file's address_space */

static __always_inline __u64 folio_mapping(__u64 folio)
{
	__u64 mapping;

	if (HAS_FOLIO)
		mapping = ADDRESS(struct folio, folio, mapping);
	else
		mapping = ADDRESS(struct page, folio, mapping);
	return mapping & MAPPING_FLAGS ? 0 : mapping;
}

/* The folio that a page is in: the address of its head page. A mask has ones above all bits that these two differ in. */
static __always_inline __u64 page_folio(__u64 page)
{
	__u64 head = 0;

	if (HAS_COMPOUND_INFO)
		head = ADDRESS(struct page___71, page, compound_info);
	else
		head = ADDRESS(struct page, page, compound_head);
	if (!(head & 1))
		return page;
	return head >> 32 == 0xffffffff ? page & head : head - 1;
}

static __always_inline __u64 folio_index(__u64 folio)
{
	if (HAS_FOLIO)
		return READ(struct folio, folio, index);
	return READ(struct page___510, folio, index);
}

/* What the file system keeps with a folio. */
static __always_inline __u64 folio_private(__u64 folio)
{
	if (HAS_FOLIO)
		return ADDRESS(struct folio, folio, private);
	return READ(struct page, folio, private);
}

/* The flags are the low half of the first word, whose name differs between kernels. */
static __always_inline __u64 folio_flags(__u64 folio)
{
	return low_half((__u64)READ(struct list_head, folio, next));
}

static __always_inline __u32 folio_pages(__u64 folio)
{
	__u64 flags = folio_flags(folio);

	if (!(flags >> bpf_core_enum_value(enum pageflags, PG_head) & 1))
		return 1;
	if (!HAS_FOLIO)
		return READ(struct page___510, folio + bpf_core_type_size(struct page), compound_nr);
	if (HAS_NR_PAGES)
		return READ(struct folio, folio, _nr_pages);
	return READ(struct folio___612, folio, _folio_nr_pages);
}
