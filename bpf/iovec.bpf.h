/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An iovec array in user memory: the bytes that it asks for, and where its first buffer is. */
#pragma once

#include "iotracer.bpf.h"

#define IOV_MAX	  1024
#define IOV_CHUNK 32

/* Bytes of up to IOV_CHUNK entries of an iovec array; IOTR_UNKNOWN: they cannot be read. A global function. */
__noinline __u64 iovec_chunk(__u64 array, __u32 count, __u32 compat)
{
	__u64 total = 0, entry[2];
	__u32 narrow[2];

	for (__u32 i = 0; i < IOV_CHUNK && i < count; i++) {
		if (compat ? bpf_probe_read_user(narrow, sizeof(narrow), (void *)(array + i * 8)) :
			     bpf_probe_read_user(entry, sizeof(entry), (void *)(array + i * 16)))
			return IOTR_UNKNOWN;
		total += compat ? narrow[1] : entry[1];
	}
	return total;
}

/* Bytes that an iovec array asks for; IOTR_UNKNOWN: it cannot be read, or is too long. A global function. */
__noinline __u64 iovec_bytes(__u64 array, __u64 count, __u32 compat)
{
	__u64 total = 0, bytes;

	if (count > IOV_MAX)
		return IOTR_UNKNOWN;
	for (__u32 first = 0; first < IOV_MAX && first < count; first += IOV_CHUNK) {
		bytes = iovec_chunk(array + first * (compat ? 8 : 16), count - first, compat);
		if (bytes == IOTR_UNKNOWN)
			return IOTR_UNKNOWN;
		total += bytes;
	}
	return total;
}

/* The address of the first buffer of an iovec array; IOTR_UNKNOWN: it has none, or cannot be read. */
static __always_inline __u64 iovec_first(__u64 array, __u64 count, __u32 compat)
{
	__u64 base = 0;

	if (!count || bpf_probe_read_user(&base, compat ? sizeof(__u32) : sizeof(__u64), (void *)array))
		return IOTR_UNKNOWN;
	return base;
}
