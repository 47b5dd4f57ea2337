/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whose pages a write carries: how many each process made dirty. The pages of a bio mostly follow
 * each other in one file, which its first and its last page tell; then no page in between is looked at but in the table
 * of dirtied.bpf.h.
 */
#pragma once

#include "blockdev.bpf.h"
#include "dirtied.bpf.h"

#define TALLIED_MAX IOTR_DIRTIERS_MAX /* processes that are told apart; a power of two */
#define RUN_MAX	    1024 /* pages of one run that are looked at */
#define VECTORS_MAX 256	 /* of a bio that are looked at: as many as one has */
#define VECTOR_MAX  128	 /* pages of a vector that are looked at one by one */
#define MERGED_MAX  256  /* bios of one request that are looked at */
#define PAGE_SIZE   4096

#define BIO_CLONED (1 << 1)

/* The pages of one process. */
struct tallied {
	__u64 pages;
	__u64 mapping; /* of the first page */
	__u32 dirtier; /* number of the task that dirtied it */
	__u32 pid;
};

struct tally {
	struct tally_head {
		__u64 unknown; /* pages whose dirtier is not known */
		__u64 others; /* pages of further processes, for which there is no room */
		__u32 count;
		__u32 last; /* index of the one that bytes were added to last */
		__u32 last_dirtier;
		__u32 most; /* see tally_most(), as is that one's pages */
		__u64 most_pages;
	} head;
	struct tallied of[TALLIED_MAX]; /* of which `count` mean something */
};

/* Each is used by one hook, and so by one program of a CPU at a time. */
enum {
	TALLY_BIO,
	TALLY_ISSUE,
	TALLY_LAYERS,
	TALLY_COUNT,
};

ARRAY_PER_CPU(tallies, struct tally, TALLY_COUNT);

/* A page's place in its file. */
struct page_place {
	__u64 mapping; /* 0: none */
	__u64 index;
};

static __always_inline struct page_place place_of_page(__u64 page)
{
	__u64 folio = page_folio(page);

	return (struct page_place){
		.mapping = folio_mapping(folio),
		.index = folio_index(folio) + (page - folio) / bpf_core_type_size(struct page),
	};
}

/* The address of the page at an offset in bytes from the begin of another one, in the same vector of a bio. */
static __always_inline __u64 page_at(__u64 page, __u64 offset)
{
	return page + offset / PAGE_SIZE * bpf_core_type_size(struct page);
}

/* Number of pages that bytes from an offset in a page on lie in. */
static __always_inline __u64 pages_of(__u32 offset, __u64 bytes)
{
	return (offset + bytes + PAGE_SIZE - 1) / PAGE_SIZE;
}

/* Adds a page whose dirtier is not known. Of one that was noted, what is kept of the dirtier has been displaced. */
static __always_inline void tally_unknown(struct tally *tally, __u32 which, __u32 number)
{
	struct iotr_control *page = control_page();

	tally->head.unknown++;
	if (page && number && which == TALLY_BIO)
		__sync_fetch_and_add(&page->dirtied_forgotten, 1);
}

/* Adds a page of a dirtier that is not the last one. */
static __always_inline int tally_add(__u32 which, __u32 number, __u64 mapping)
{
	struct tally *tally = bpf_map_lookup_elem(&tallies, &which);
	struct dirtier *dirtier = number ? dirtier_find(number) : NULL;
	__u32 at;

	if (!tally)
		return 0;
	if (!dirtier) {
		tally_unknown(tally, which, number);
		return 0;
	}
	for (at = 0; at < TALLIED_MAX && at < tally->head.count; at++)
		if (tally->of[at].pid == dirtier->actor.pid)
			break;
	if (at >= TALLIED_MAX) {
		tally->head.others++;
		return 0;
	}
	if (at == tally->head.count) {
		tally->of[at].pid = dirtier->actor.pid;
		tally->of[at].dirtier = number;
		tally->of[at].mapping = mapping;
		tally->of[at].pages = 0;
		tally->head.count++;
	}
	tally->of[at].pages++;
	tally->head.last = at;
	tally->head.last_dirtier = number;
	return 0;
}

/* Adds a page. A global function. */
__noinline int tally_page(__u32 which, __u64 mapping, __u64 index)
{
	struct tally *tally = bpf_map_lookup_elem(&tallies, &which);
	struct iotr_control *page = control_page();
	__u32 number;

	if (!tally || !page)
		return 0;
	number = dirtied_by(page, mapping, index);
	if (!number || number != tally->head.last_dirtier)
		return tally_add(which, number, mapping);
	tally->of[tally->head.last & (TALLIED_MAX - 1)].pages++;
	return 0;
}

/* Adds pages that follow each other in one file. A global function. */
__noinline int tally_run(__u32 which, __u64 mapping, __u64 index, __u64 pages)
{
	for (__u32 i = 0; i < RUN_MAX && i < pages; i++)
		tally_page(which, mapping, index + i);
	return 0;
}

/* Adds a page of memory. A global function. */
__noinline int tally_one(__u32 which, __u64 page)
{
	struct page_place place = place_of_page(page);

	return tally_page(which, place.mapping, place.index);
}

/* Adds pages one by one. A global function. */
__noinline int tally_apart(__u32 which, __u64 page, __u64 pages)
{
	for (__u32 i = 0; i < VECTOR_MAX && i < pages; i++)
		tally_one(which, page_at(page, (__u64)i * PAGE_SIZE));
	return 0;
}

/* Adds the pages from one to another, if they are as far apart in one file. */
static __always_inline bool tally_between(__u32 which, __u64 first, __u64 last, __u64 pages)
{
	struct page_place from = place_of_page(first), to = first == last ? from : place_of_page(last);

	if (!from.mapping || from.mapping != to.mapping || to.index - from.index != pages - 1)
		return false;
	tally_run(which, from.mapping, from.index, pages);
	return true;
}

/* Adds the pages of a part of memory, from an offset in a page on. */
static __always_inline void tally_memory(__u32 which, __u64 page, __u64 offset, __u64 bytes)
{
	__u64 pages = pages_of(offset & (PAGE_SIZE - 1), bytes);

	page = page_at(page, offset);
	if (!tally_between(which, page, page_at(page, (pages - 1) * PAGE_SIZE), pages))
		tally_apart(which, page, pages);
}

/* Bytes of a bio's current vector that are done already. */
static __always_inline __u32 vector_done(__u64 bio)
{
	return HAS_BVEC_OFFSET ? READ(struct bio___73, bio, bi_iter.bi_offset) :
				 READ(struct bio, bio, bi_iter.bi_bvec_done);
}

/* Whether a bio's pages, which no other bio shares, follow each other in one file; then they are added. */
static __always_inline bool tally_whole(__u32 which, __u64 bio, __u64 vectors, __u32 bytes)
{
	__u32 count = READ(struct bio, bio, bi_vcnt), offset;
	__u64 last, first;

	if (READ(struct bio, bio, bi_flags) & BIO_CLONED || !count || READ(struct bio, bio, bi_iter.bi_idx) ||
	    vector_done(bio))
		return false;
	offset = READ(struct bio_vec, vectors, bv_offset);
	first = page_at(ADDRESS(struct bio_vec, vectors, bv_page), offset);
	last = vectors + (count - 1) * bpf_core_type_size(struct bio_vec);
	last = page_at(ADDRESS(struct bio_vec, last, bv_page),
		       (__u64)READ(struct bio_vec, last, bv_offset) + READ(struct bio_vec, last, bv_len) - 1);
	return tally_between(which, first, last, pages_of(offset & (PAGE_SIZE - 1), bytes));
}

/* Adds a vector of a bio from an offset on, but not more than `left` bytes. Returns how many bytes. A global function. */
__noinline __u32 tally_vector(__u32 which, __u64 vector, __u32 from, __u32 left)
{
	__u32 part = READ(struct bio_vec, vector, bv_len) - from;

	if (part > left)
		part = left;
	tally_memory(which, ADDRESS(struct bio_vec, vector, bv_page), (__u64)READ(struct bio_vec, vector, bv_offset) + from,
		     part);
	return part;
}

/* Adds what a bio carries. A global function. */
__noinline int tally_bio(__u32 which, __u64 bio)
{
	__u64 vectors = ADDRESS(struct bio, bio, bi_io_vec);
	__u32 left = READ(struct bio, bio, bi_iter.bi_size), done;

	if (!vectors || !left || tally_whole(which, bio, vectors, left))
		return 0;
	vectors += READ(struct bio, bio, bi_iter.bi_idx) * bpf_core_type_size(struct bio_vec);
	done = vector_done(bio);
	for (int i = 0; i < VECTORS_MAX && left; i++) {
		left -= tally_vector(which, vectors, done, left);
		done = 0;
		vectors += bpf_core_type_size(struct bio_vec);
	}
	return 0;
}

/* Adds what a bio carries, and those merged with it. A global function. */
__noinline int tally_bios(__u32 which, __u64 bio)
{
	for (int i = 0; i < MERGED_MAX && bio; i++) {
		tally_bio(which, bio);
		bio = ADDRESS(struct bio, bio, bi_next);
	}
	return 0;
}

static __always_inline void tally_begin(__u32 which)
{
	struct tally *tally = bpf_map_lookup_elem(&tallies, &which);

	if (tally)
		__builtin_memset(&tally->head, 0, sizeof(tally->head));
}

/* Index of the process with most pages; TALLIED_MAX: there is none, or more are unknown than are its. A global function. */
__noinline __u32 tally_most(__u32 which)
{
	struct tally *tally = bpf_map_lookup_elem(&tallies, &which);
	volatile struct tally_head *head;

	if (!tally)
		return TALLIED_MAX;
	/* Index and maximum are kept in memory, as verifiers would follow each value that a register can have. */
	head = &tally->head;
	head->most_pages = 0;
	for (__u32 i = 0; i < TALLIED_MAX && i < head->count; i++)
		if (tally->of[i].pages > head->most_pages) {
			head->most_pages = tally->of[i].pages;
			head->most = i;
		}
	return head->most_pages && head->most_pages >= head->unknown ? head->most : TALLIED_MAX;
}
