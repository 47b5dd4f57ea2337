/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pages that requests of io_uring bring in. A request adds them in the call that submits it, and does not wait: it goes on, and is
 * seen to reach them, when they are there, in a later call or after any. Nor do workers make calls. So what pages are is decided as
 * they are added, by what the request asks for, and a MISS is kept until the request reaches it, so that it is no HIT as well.
 */
#pragma once

#include "cache_asked.bpf.h"
#include "uring.bpf.h"

#define REQUESTED_MAX	8192 /* of these, those that were added last; a request that is cancelled never reaches its pages */
#define READAHEAD_PAGES 32 /* what the kernel reads ahead at most, unless it is told otherwise */

/* Where a request ends, by which it is known when it reaches its pages: the tracepoint tells that. */
struct requested {
	__u64 mapping;
	__u64 last;
};

/* Consecutive pages that have their rows, as a request missed some of them, and all others were there. */
struct missed {
	__u64 from, to; /* `to` is the first page after them */
	__u64 reached;	/* the request has been seen to reach them */
};

HASH_OF(cache_requested, LRU_HASH, struct requested, struct missed, REQUESTED_MAX);

bool requested_seen SEC(".data"); /* something has been put into cache_requested, so that it has to be looked into */

/* ---- a request ---- */

/* The file that a request at an address reads, which it may not have got yet; 0: it is in the ring's own table. */
static __always_inline __u64 request_file(__u64 kernel)
{
	__u64 file = ADDRESS(struct io_kiocb, kernel, file);

	if (file || READ(struct io_kiocb, kernel, flags) & IOSQE_FIXED_FILE)
		return file;
	return file_of_fd(current_task(), READ(struct io_kiocb, kernel, cqe.fd));
}

static __always_inline __u64 request_bytes(__u64 kernel, __u64 set)
{
	__u64 length = READ(struct io_rw, kernel, len);

	if (set & URING_VECTORS)
		return iovec_bytes(READ(struct io_rw, kernel, addr), length, abi_of(current_task()) == IOTR_ABI_COMPAT);
	return length;
}

/* Forgets what an earlier request has missed that ended with the same page. */
static __always_inline void requested_forget(const struct cache_call *call)
{
	struct requested key = { call->due_mapping, call->due_index + call->due_count - 1 };

	if (requested_seen && bpf_map_lookup_elem(&cache_requested, &key))
		bpf_map_delete_elem(&cache_requested, &key);
}

/* What a request at an address asks for is due from now on; nothing is, if it does not read. */
static __always_inline void request_due(struct cache_call *call, __u64 kernel)
{
	__u64 set = uring_set(READ(struct io_kiocb, kernel, opcode)), file = request_file(kernel), position, bytes;

	call->due_mapping = 0;
	if (!file || !(set & URING_READS) || READ(struct file, file, f_flags) & O_DIRECT)
		return;
	position = READ(struct io_rw, kernel, kiocb.ki_pos);
	if (position == IOTR_UNKNOWN)
		position = READ(struct file, file, f_pos);
	bytes = request_bytes(kernel, set);
	if (position >> 63 || bytes >> 63)
		return;
	call->due_mapping = ADDRESS(struct file, file, f_mapping);
	call->due_index = position >> PAGE_SHIFT;
	call->due_count = ((position + bytes + PAGE_BYTES - 1) >> PAGE_SHIFT) - call->due_index;
	call->due_from = call->due_to = 0;
	call->requested = true;
	call->apart = true;
	requested_forget(call);
}

/* ---- pages that are added ---- */

/* Whether pages of the mapping that the thread adds are for a request. */
static __always_inline bool adds_requested(const struct cache_call *call, __u64 mapping)
{
	return call && call->due_mapping == mapping && call->requested;
}

/* Whether readahead at page `index` of a mapping is for the request that is due, whose pages are known. */
static __always_inline bool due_already(const struct cache_call *call, __u64 mapping, __u64 index)
{
	return adds_requested(call, mapping) && index - call->due_index < call->due_count;
}

/* A request that reaches what it has brought in goes on to page `last`, and may have to bring in more. */
static __always_inline void request_goes_on(struct cache_call *call, __u64 mapping, __u64 index, __u64 last)
{
	call->due_mapping = mapping;
	call->due_index = index;
	call->due_count = last + 1 - index;
	call->due_from = call->due_to = 0;
	call->requested = true;
	call->apart = true;
}

/* Pages between those that a request has missed so far and the next ones: they were there. */
static __always_inline struct range requested_between(const struct cache_call *call, struct range missed)
{
	struct range between = { call->due_to, missed.from };

	if (!call->due_to || between.from > between.to)
		between.from = between.to;
	return between;
}

/*
 * Notes pages that are a MISS: the read does not reach them yet, even if it had begun to. The range asked for so far ends before
 * them.
 */
static __always_inline void requested_note(struct cache_call *call, __u64 mapping, struct range range)
{
	struct requested key = { mapping, call->due_index + call->due_count - 1 };
	struct run *asked = &call->asked;
	struct missed missed = { .to = range.to };

	if (asked->count && asked->mapping == mapping && range.from >= asked->index && range.from < asked->index + asked->count)
		asked->count = range.from - asked->index;
	if (!call->due_to || range.from < call->due_to)
		call->due_from = range.from;
	call->due_to = range.to;
	missed.from = call->due_from;
	requested_seen = true;
	bpf_map_update_elem(&cache_requested, &key, &missed, BPF_ANY);
}

/* ---- pages that are reached ---- */

/* Whether a read that has reached page `index` is the one that the call was at, further on. */
static __always_inline bool reads_further(const struct cache_call *call, const struct asking *asking)
{
	return call && call->asked.count && call->asked.mapping == asking->mapping && asking->index > call->reached &&
	       asking->last == call->last;
}

/*
 * Sets what is known of the pages that a read reaches from what a request has missed that ends with the same page. What lies
 * behind that was there if readahead brings in as much at once, and else is not known before it is reached.
 */
static __always_inline void requested_reached(const struct cache_call *call, struct asking *asking)
{
	struct requested key = { asking->mapping, asking->last };
	struct missed *missed;

	missed = bpf_map_lookup_elem(&cache_requested, &key);
	if (!missed)
		return;
	if (asking->index < missed->from) {
		asking->bound = missed->from;
		return;
	}
	if (asking->index >= missed->to) {
		bpf_map_delete_elem(&cache_requested, &key);
		return;
	}
	asking->missed = missed->to;
	if (asking->last + 1 - missed->from > READAHEAD_PAGES) {
		asking->bound = missed->to;
		return;
	}
	if (missed->reached)
		asking->missed = reads_further(call, asking) ? 0 : asking->last + 1;
	missed->reached = true;
}
