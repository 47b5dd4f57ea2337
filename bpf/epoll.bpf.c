// SPDX-License-Identifier: GPL-2.0-or-later
/* Waits for descriptors: epoll, poll and select. */
#include "plug.bpf.h"

#define MASKS_MAX	 16 /* descriptors or events whose masks are looked at */
#define CTL_DEL		 2
#define EPOLL_EVENT_SIZE 12 /* struct epoll_event is packed */
#define POLL_FD_SIZE	 8  /* struct pollfd */

static __always_inline __s64 timeout_ms(const struct slot *slot, __u64 argument)
{
	__s64 time[2] = { 0, 0 };
	__s32 compat[2];

	if (slot->kind == IOTR_PLUG_PLAIN)
		return (__s32)argument < 0 ? -1 : (__s32)argument;
	if (!argument)
		return -1;
	if (slot->abi == IOTR_ABI_COMPAT) {
		if (bpf_probe_read_user(compat, sizeof(compat), (void *)argument))
			return -1;
		time[0] = compat[0];
		time[1] = compat[1];
	} else if (bpf_probe_read_user(time, sizeof(time), (void *)argument)) {
		return -1;
	}
	if (slot->kind == IOTR_PLUG_TIMEVAL)
		return time[0] * 1000 + ((__u64)time[1] + 999) / 1000;
	return time[0] * 1000 + ((__u64)time[1] + 999999) / 1000000;
}

/* Masks of an array in the user's memory, all together. */
static __always_inline __u32 masks(__u64 array, __u32 count, __u32 stride, __u32 width)
{
	__u32 together = 0;

	for (__u32 i = 0; i < MASKS_MAX && i < count; i++) {
		__u32 mask = 0;

		if (bpf_probe_read_user(&mask, width, (void *)(array + i * stride)))
			break;
		together |= mask;
	}
	return together;
}

static __always_inline void fill_ctl(struct iotr_epoll_record *row, const struct slot *slot)
{
	row->epoll_fd = slot->args[0];
	row->op = slot->args[1];
	row->target_fd = slot->args[2];
	row->has_events = row->op != CTL_DEL &&
			  !bpf_probe_read_user(&row->events, sizeof(row->events), (void *)slot->args[3]);
}

static __always_inline void fill_wait(struct iotr_epoll_record *row, const struct slot *slot, long result)
{
	row->epoll_fd = slot->args[0];
	row->max_events = slot->args[2];
	row->timeout_ms = timeout_ms(slot, slot->args[3]);
	row->has_events = result > 0;
	if (result > 0)
		row->events = masks(slot->args[1], result, EPOLL_EVENT_SIZE, sizeof(__u32));
}

static __always_inline void fill_poll(struct iotr_epoll_record *row, const struct slot *slot)
{
	row->max_events = slot->args[1];
	row->timeout_ms = timeout_ms(slot, slot->args[2]);
	row->has_events = row->max_events > 0;
	row->events = masks(slot->args[0] + 4, row->max_events, POLL_FD_SIZE, sizeof(__u16));
	if (row->max_events == 1)
		bpf_probe_read_user(&row->target_fd, sizeof(row->target_fd), (void *)slot->args[0]);
}

static __always_inline void fill(struct iotr_epoll_record *row, const struct slot *slot, long result)
{
	row->result = result;
	row->waits = slot->operation >= IOTR_EPOLL_EPOLL_WAIT;
	row->timeout_ms = -1;
	row->events = row->max_events = 0;
	row->epoll_fd = row->target_fd = -1;
	row->op = row->has_events = 0;
	switch (slot->operation) {
	case IOTR_EPOLL_EPOLL_CREATE:
		row->epoll_fd = result < 0 ? -1 : result;
		break;
	case IOTR_EPOLL_EPOLL_CTL:
		fill_ctl(row, slot);
		break;
	case IOTR_EPOLL_EPOLL_WAIT:
		fill_wait(row, slot, result);
		break;
	case IOTR_EPOLL_POLL:
		fill_poll(row, slot);
		break;
	case IOTR_EPOLL_SELECT:
		row->max_events = slot->args[0];
		row->timeout_ms = timeout_ms(slot, slot->args[4]);
		break;
	}
}

static __always_inline int epoll_begins(struct call_context context)
{
	plug_begins(context);
	return 0;
}

static __always_inline int epoll_ends(struct call_context context, long result)
{
	struct slot *slot = plug_ends(context);
	struct iotr_epoll_record *row;

	if (!slot)
		return 0;
	row = plug_row(slot, sizeof(*row), IOTR_UNKNOWN, plug_failed(result));
	if (row) {
		fill(row, slot, result);
		row_commit(row);
	}
	plug_done(slot);
	return 0;
}

PLUG_PROGRAMS(epoll, epoll_begins, epoll_ends)

char LICENSE[] SEC("license") = "GPL";
