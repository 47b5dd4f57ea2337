/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libaio: operations begin with io_submit, and their ends are seen when io_getevents returns them or, where the program takes them
 * by itself, with its next call. The steps are global functions, and find the call by its thread.
 */
#pragma once

#include "iovec.bpf.h"
#include "aio_request.bpf.h"
#include "flow_made.bpf.h"
#include "aio_ring.bpf.h"
#include "call_numbers.h"
#include "slots.bpf.h"

#define AIO_MAX	  1024 /* maximum of operations looked at in one call */

/* In the slot of an io_submit, after its arguments: the number of operations not read, and the first's index. */
#define AIO_UNREAD 6
#define AIO_FIRST  7
#define AIO_POSITION 3 /* that of its ring when it begins; it has three arguments */
#define AIO_CHUNK 32

enum aio_opcode {
	AIO_PREAD = 0,
	AIO_PWRITE = 1,
	AIO_FSYNC = 2,
	AIO_FDSYNC = 3,
	AIO_PREADV = 7,
	AIO_PWRITEV = 8,
};

/* struct iocb of the kernel's ABI. */
struct aio_control {
	__u64 data;
	__u32 key;
	__u32 rw_flags;
	__u16 opcode;
	__s16 priority;
	__u32 fd;
	__u64 buffer;
	__u64 bytes;
	__s64 offset;
};

/* Sets the operation that an opcode stands for; false if it is no file operation. */
static __always_inline bool aio_operation(__u32 opcode, struct aio_request *request)
{
	switch (opcode) {
	case AIO_PREAD:
	case AIO_PREADV:
		request->operation = IOTR_VFS_READ;
		break;
	case AIO_PWRITE:
	case AIO_PWRITEV:
		request->operation = IOTR_VFS_WRITE;
		break;
	case AIO_FSYNC:
		request->operation = IOTR_VFS_FSYNC;
		return true;
	case AIO_FDSYNC:
		request->operation = IOTR_VFS_FDATASYNC;
		return true;
	default:
		return false;
	}
	request->counts_bytes = 1;
	return true;
}

/* Reads the address of a control block from the array of pointers that io_submit got. */
static __always_inline bool aio_control_read(const struct slot *slot, __u32 index, __u64 *user)
{
	__u32 size = slot->abi == IOTR_ABI_COMPAT ? sizeof(__u32) : sizeof(__u64);

	*user = 0;
	return !bpf_probe_read_user(user, size, (void *)(slot->args[2] + (__u64)index * size));
}

/* Begins one operation of an io_submit, whose third argument is an array of pointers. What it says of its file follows. */
__noinline int aio_submit_one(__u64 thread, __u32 index)
{
	struct iotr_control *page = control_page();
	struct slot *slot = slot_find(thread);
	struct aio_control control = {};
	__u64 user, key, sessions;
	struct aio_request *request;

	if (!page || !slot)
		return 0;
	if (!aio_control_read(slot, index, &user) || bpf_probe_read_user(&control, sizeof(control), (void *)user)) {
		if (!slot->args[AIO_UNREAD]++)
			slot->args[AIO_FIRST] = index;
		return 0;
	}
	key = aio_key(user);
	aio_request_unended(key);
	sessions = sample(page, IOTR_VFS, slot->sessions);
	request = sessions ? aio_request_new(key, sessions) : NULL;
	if (!request)
		return 0;
	if (!aio_operation(control.opcode, request)) {
		aio_request_keep(key, request, 0);
		return 0;
	}
	request->start_ns = slot->start_ns;
	request->flow = slot->flow;
	request->position = slot->args[AIO_POSITION];
	request->index = index;
	request->fd = control.fd;
	request->has_fd = 1;
	if (request->counts_bytes) {
		request->flags = control.rw_flags;
		request->offset = control.offset;
		request->size = control.bytes;
		request->buffer = control.buffer;
		if (control.opcode >= AIO_PREADV) {
			request->size = iovec_bytes(control.buffer, control.bytes, slot->abi == IOTR_ABI_COMPAT);
			request->buffer = iovec_first(control.buffer, control.bytes, slot->abi == IOTR_ABI_COMPAT);
		}
		request->unread = request->size == IOTR_UNKNOWN;
	}
	aio_request_keep(key, request, sessions);
	return 0;
}

/* The operation that an entry of the array stands for, if it began with this call; otherwise NULL. */
static __always_inline struct aio_request *aio_submitted(const struct slot *slot, __u32 index, __u64 *key)
{
	struct aio_request *request;
	__u64 user;

	if (!aio_control_read(slot, index, &user))
		return NULL;
	*key = aio_key(user);
	request = bpf_map_lookup_elem(&aio_requests, key);
	return request && request->start_ns == slot->start_ns && request->index == index ? request : NULL;
}

/* Fills in the open file of an operation that has begun: apart, as little stack is left for what looks up names. */
__noinline int aio_submit_file(__u64 thread, __u32 index)
{
	struct iotr_control *page = control_page();
	struct slot *slot = slot_find(thread);
	struct aio_request *request;
	__u64 key, sessions;

	request = page && slot ? aio_submitted(slot, index, &key) : NULL;
	if (!request)
		return 0;
	sessions = aio_request_file(page, request, file_of_fd(current_task(), request->fd), request->sessions);
	if (aio_request_appends(request))
		request->offset = IOTR_UNKNOWN; /* only the kernel's kiocb had it, which is freed by then */
	aio_request_keep(key, request, aio_request_wanted(page, request, sessions));
	return 0;
}

/* Forgets an operation that the kernel did not accept; it makes a row only if the call's error is its own. */
__noinline int aio_refuse_one(__u64 thread, __u32 index, __s32 error)
{
	struct iotr_control *page = control_page();
	struct slot *slot = slot_find(thread);
	struct aio_request *request;
	__u64 key;

	request = page && slot ? aio_submitted(slot, index, &key) : NULL;
	if (!request)
		return 0; /* or a later operation has a control block at the same address */
	if (error && !index)
		aio_request_emit(page, request, error);
	bpf_map_delete_elem(&aio_requests, &key);
	return 0;
}

/* Ends the operation of one event of an io_getevents, whose fourth argument is the array of events. */
__noinline int aio_reap_one(__u64 thread, __u32 index)
{
	struct slot *slot = slot_find(thread);
	struct aio_event event = {};

	if (!slot)
		return 0;
	if (bpf_probe_read_user(&event, sizeof(event), (void *)(slot->args[3] + index * sizeof(event))))
		return 0;
	aio_end(event.control, IOTR_UNKNOWN, event.result);
	return 0;
}

enum aio_step {
	AIO_SUBMIT,
	AIO_REFUSE,
	AIO_REAP,
};

/* Does a step for up to AIO_CHUNK of a call's operations, from `first` on. A global function, as the steps are. */
__noinline int aio_chunk(__u64 thread, __u32 step, __u32 first, __u32 count, __s32 error)
{
	for (__u32 i = 0; i < AIO_CHUNK && i < count; i++) {
		if (step == AIO_SUBMIT) {
			aio_submit_one(thread, first + i);
			aio_submit_file(thread, first + i);
		} else if (step == AIO_REFUSE)
			aio_refuse_one(thread, first + i, error);
		else
			aio_reap_one(thread, first + i);
	}
	return 0;
}

/* Does a step for the call's operations from `first` up to `end`, which is excluded. */
__noinline int aio_each(__u64 thread, __u32 step, __u32 first, __u32 end, __s32 error)
{
	for (__u32 done = 0; done < AIO_MAX && first + done < end; done += AIO_CHUNK)
		aio_chunk(thread, step, first + done, end - first - done, done ? 0 : error);
	return 0;
}

/* What ended before a call ends with it; then io_submit begins others. io_destroy takes the ring away. */
static __always_inline void aio_begins(__u64 thread, bool submits)
{
	struct slot *slot = slot_find(thread);
	__u64 position;

	if (!slot)
		return;
	position = aio_look(slot->args[0], slot->number == (slot->abi == IOTR_ABI_COMPAT ? NR32_io_destroy : NR_io_destroy));
	if (!submits)
		return;
	slot->args[AIO_POSITION] = position;
	slot->args[AIO_UNREAD] = 0;
	slot->flow = flow_made(bpf_ktime_get_ns());
	aio_each(thread, AIO_SUBMIT, 0, slot->args[1], 0);
}

/*
 * Counts as lost the operations that the kernel accepted and that have no entry in aio_requests: those that it could read
 * and the program could not, and those beyond AIO_MAX. A session that samples counts either all of them or none.
 */
static __always_inline void aio_unnoted(const struct slot *slot, __u64 taken)
{
	__u64 unread = slot->args[AIO_UNREAD], first = slot->args[AIO_FIRST], lost = 0, sessions;
	struct iotr_control *page = control_page();

	if (unread && taken > first)
		lost = unread < taken - first ? unread : taken - first;
	if (taken > AIO_MAX)
		lost += taken - AIO_MAX;
	if (!page || !lost)
		return;
	sessions = sample(page, IOTR_VFS, slot->sessions);
	count_several(IOTR_VFS, COUNT_EMITTED, sessions, lost);
	count_several(IOTR_VFS, COUNT_UNMATCHED, sessions, lost);
}

static __always_inline void aio_ends(const struct iotr_call *call, struct slot *slot, long result)
{
	if (call->traits & IOTR_CALL_SUBMITS) {
		aio_each(slot->thread, AIO_REFUSE, result < 0 ? 0 : result, slot->args[1],
			 result < 0 ? result : 0);
		if (result > 0)
			aio_unnoted(slot, result);
	} else if (result > 0) {
		aio_each(slot->thread, AIO_REAP, 0, result, 0);
	}
}
