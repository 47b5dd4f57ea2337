/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables of what is in flight, by a key, mostly an address. They are arrays: an entry of a hash table takes a look at a bucket more,
 * and making and deleting one takes as long as four looks. A key has a place in the array, its home. If another key has that, it
 * is at one of the next places of a sequence of its own, and the home counts that it is.
 *
 * A place is taken without a lock, and without instructions that oldest kernels lack: whoever adds himself to `claims` and then
 * finds nobody else there has it until he subtracts himself. Two that meet both go elsewhere. A key is taken and released by
 * whoever handles what it is the key of, one after the other.
 */
#pragma once

#include "read.bpf.h"

#define FLIGHT_BITS 13
#define FLIGHTS	    (1 << FLIGHT_BITS) /* places of a table */
#define FLIGHT_WAYS 16 /* places that a key may have: with half of all taken, one key of 65,536 finds none */

_Static_assert(IOTR_REQUESTS == FLIGHTS && IOTR_URING == FLIGHTS, "the tables of what is in flight have as many places as are hashed to");

/* The first member of an entry. */
struct flight {
	__u64 key; /* whose place it is; 0: nobody's */
	__u32 claims;
	__u32 displaced; /* keys whose home this is, and that are elsewhere */
};

static __always_inline __u32 flight_index(__u64 key, __u32 way)
{
	__u64 mixed = key * 0x9e3779b97f4a7c15ULL; /* 2^64 by the golden ratio: its upper bits depend on all of the key's */

	return (__u32)(mixed >> (64 - FLIGHT_BITS)) + way * ((__u32)mixed | 1);
}

static __always_inline struct flight *flight_at(void *table, __u64 key, __u32 way)
{
	__u32 index = flight_index(key, way) & (FLIGHTS - 1);

	return bpf_map_lookup_elem(table, &index);
}

/* Takes a place for a key. False: another has it. */
static __always_inline bool flight_claim(struct flight *flight, __u64 key)
{
	if (*(volatile __u32 *)&flight->claims)
		return false;
	__sync_fetch_and_add(&flight->claims, 1);
	if (*(volatile __u32 *)&flight->claims == 1) {
		flight->key = key;
		return true;
	}
	__sync_fetch_and_add(&flight->claims, -1);
	return false;
}

/* Looks for a key elsewhere than at its home or, if it is to be taken, for a place there. The index of that; -1: there is none. */
static __always_inline int flight_elsewhere(void *table, __u64 key, __u32 take)
{
	for (__u32 way = 1; way < FLIGHT_WAYS; way++) {
		struct flight *flight = flight_at(table, key, way);

		if (flight && (take ? flight_claim(flight, key) : flight->key == key))
			return flight_index(key, way) & (FLIGHTS - 1);
	}
	return -1;
}

/* Such a function for a table, which most keys do not need. A global function. */
#define FLIGHT_ELSEWHERE(name, table)                                                           \
	__noinline int name(__u64 key, __u32 take)                                              \
	{                                                                                       \
		return flight_elsewhere(&table, key, take);                                     \
	}
typedef int (*flight_search)(__u64 key, __u32 take);

static __always_inline void *flight_moved(void *table, __u64 key, __u32 take, flight_search elsewhere)
{
	__u32 index = elsewhere(key, take);

	return index < FLIGHTS ? bpf_map_lookup_elem(table, &index) : NULL;
}

/* The place of a key; NULL: it has none. */
static __always_inline void *flight_find(void *table, __u64 key, flight_search elsewhere)
{
	struct flight *home;

	key = number_of(key);
	home = flight_at(table, key, 0);
	if (!home || home->key == key)
		return home;
	return home->displaced ? flight_moved(table, key, false, elsewhere) : NULL;
}

/* A place for a key that has none; NULL: there is no room. What is in it behind `flight` is of an earlier key. */
static __always_inline void *flight_take(void *table, __u64 key, flight_search elsewhere)
{
	struct flight *home, *moved;

	key = number_of(key);
	home = flight_at(table, key, 0);
	if (!home || flight_claim(home, key))
		return home;
	moved = flight_moved(table, key, true, elsewhere);
	if (moved)
		__sync_fetch_and_add(&home->displaced, 1);
	return moved;
}

/*
 * What an entry has behind `flight`. The compiler has to know how it is aligned, or goes through it byte by byte.
 */
#define FLIGHT_REST(entry)	__builtin_assume_aligned((void *)(entry) + sizeof((entry)->flight), sizeof(__u64))
#define FLIGHT_REST_SIZE(entry) (sizeof(*(entry)) - sizeof((entry)->flight))

/* Gives up the place of a key. */
static __always_inline void flight_release(void *table, struct flight *flight, __u64 key)
{
	struct flight *home;

	key = number_of(key);
	home = flight_at(table, key, 0);
	if (home && home->key != key)
		__sync_fetch_and_add(&home->displaced, -1);
	flight->key = 0;
	__sync_fetch_and_add(&flight->claims, -1);
}
