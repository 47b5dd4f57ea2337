/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ring that the kernel puts the ends of libaio's operations into. It is in the process's own memory, so a program may take them
 * from there without a system call, as QEMU does. Whenever a call is about a context, the ends that were taken since the last such
 * call are read from its ring. No more can have been taken than were under way, and these have room in the ring. What the program
 * has not touched cannot be read, and was not taken so: io_getevents returns it.
 *
 * A position counts ends, and its remainder is an index in the ring. An operation has the position of its submission: an earlier end
 * is that of another one with the same control block.
 */
#pragma once

#include "aio_request.bpf.h"
#include "slots.bpf.h"

/* A kernel may be built without libaio, and has no such types then. */
#define HAS_AIO bpf_core_type_exists(struct kioctx)

#define AIO_RING_MAGIC	0xa10a10a1
#define AIO_RING_EVENTS (1 << 20) /* more than any ring has */
#define AIO_CONTEXTS	16 /* of a process, that are looked at */
#define AIO_RINGS	4096 /* maximum of rings that are remembered; LRU */
#define AIO_LOOK_CHUNK	32
#define AIO_LOOK_MAX	1024 /* ends that are looked at in one call */

/* struct aio_ring of the kernel, which the context that programs have is the address of. */
struct aio_ring {
	__u32 id;
	__u32 count;
	__u32 head;
	__u32 tail;
	__u32 magic;
	__u32 features[2];
	__u32 header; /* bytes before the events */
};

/* struct io_event of the kernel's ABI. */
struct aio_event {
	__u64 data;
	__u64 control;
	__s64 result;
	__s64 result2;
};

/* By context and process: the position up to which ends were looked at. */
HASH_OF(aio_rings, LRU_HASH, __u64, __u64, AIO_RINGS);

/* A request whose row is written, after it was taken out of the table. */
ARRAY_PER_CPU(aio_ended, struct aio_request, 1);

static __always_inline __u64 aio_key(__u64 control)
{
	return iotr_mix(control, bpf_get_current_pid_tgid() >> 32);
}

/* The kernel's struct kioctx of a context of the current process, 0: it is not found. A global function. */
__noinline __u64 aio_context(__u64 context)
{
	__u64 mm = ADDRESS(struct task_struct, current_task(), mm), table, kernel;
	__u32 count;

	if (!HAS_AIO)
		return 0;
	table = mm ? ADDRESS(struct mm_struct___aio, mm, ioctx_table) : 0;
	count = table ? READ(struct kioctx_table, table, nr) : 0;
	for (__u32 i = 0; i < AIO_CONTEXTS && i < count; i++) {
		kernel = word_at(table + bpf_core_field_offset(struct kioctx_table, table) + i * sizeof(kernel));
		if (kernel && READ(struct kioctx, kernel, user_id) == context)
			return kernel;
	}
	return 0;
}

/* The position of an index of a ring of `count` that is not before `seen`. */
static __always_inline __u64 aio_position_of(__u64 seen, __u32 index, __u32 count)
{
	__u32 from = seen % count;

	return seen + (index >= from ? index - from : index + count - from);
}

/*
 * Ends the operation of a control block, unless it began behind that end. Two threads may see the same end: who takes it out of the
 * table writes the row. A global function.
 */
__noinline int aio_end(__u64 control, __u64 position, __s64 result)
{
	struct iotr_control *page = control_page();
	struct aio_request *request, *ended;
	__u64 key = aio_key(control);
	__u32 zero = 0;

	request = bpf_map_lookup_elem(&aio_requests, &key);
	if (!page || !request || (request->position != IOTR_UNKNOWN && position < request->position))
		return 0;
	ended = bpf_map_lookup_elem(&aio_ended, &zero);
	if (!ended)
		return 0;
	__builtin_memcpy(ended, request, sizeof(*ended));
	if (!bpf_map_delete_elem(&aio_requests, &key))
		aio_request_emit(page, ended, result);
	return 0;
}

/* Ends operations from a position of a ring on. A global function. */
__noinline int aio_look_chunk(__u64 events, __u32 size, __u64 from, __u32 count)
{
	struct aio_event event;

	if (!size)
		return 0;
	for (__u32 i = 0; i < AIO_LOOK_CHUNK && i < count; i++) {
		if (bpf_probe_read_user(&event, sizeof(event), (void *)(events + (from + i) % size * sizeof(event))))
			continue;
		aio_end(event.control, from + i, event.result);
	}
	return 0;
}

/*
 * Ends what was taken from the ring of a context since that was looked at; `all`: and what was not taken yet, as the ring is about to
 * go. A global function. Returns the position of the ring's tail; IOTR_UNKNOWN: it is not known.
 */
__noinline __u64 aio_look(__u64 context, __u32 all)
{
	__u64 key = aio_key(context), kernel = aio_context(context), *known, seen, tail, end;
	struct aio_ring ring;
	__u32 count;

	if (!HAS_AIO)
		return IOTR_UNKNOWN;
	count = kernel ? READ(struct kioctx, kernel, nr_events) : 0;
	if (!count || count > AIO_RING_EVENTS)
		return IOTR_UNKNOWN;
	known = bpf_map_lookup_elem(&aio_rings, &key);
	seen = known ? *known : READ(struct kioctx, kernel, tail);
	tail = aio_position_of(seen, READ(struct kioctx, kernel, tail), count);
	end = seen;
	if (!bpf_probe_read_user(&ring, sizeof(ring), (void *)context) && ring.magic == AIO_RING_MAGIC && ring.head < count)
		end = all ? tail : aio_position_of(seen, ring.head, count);
	if (end > tail)
		end = seen; /* what was taken is from before the ring was seen */
	if (end - seen > AIO_LOOK_MAX)
		end = seen + AIO_LOOK_MAX;
	for (__u32 done = 0; done < AIO_LOOK_MAX && seen + done < end; done += AIO_LOOK_CHUNK)
		aio_look_chunk(context + ring.header, count, seen + done, end - seen - done);
	if (!known || end != seen)
		bpf_map_update_elem(&aio_rings, &key, &end, BPF_ANY);
	return tail;
}
