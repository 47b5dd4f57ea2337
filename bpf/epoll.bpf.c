// SPDX-License-Identifier: GPL-2.0-or-later
/* Waits for descriptors: epoll, poll and select. */
#include "epoll_ready.bpf.h"

#define MASKS_MAX	 64 /* maximum of descriptors or events whose masks are read */
#define CTL_DEL		 2
#define EPOLL_EVENT_SIZE 12 /* struct epoll_event is packed */
#define POLL_FD_SIZE	 8  /* struct pollfd */
#define SECONDS_MAX	 ((1ULL << 63) / 1000 - 1)
#define TIMEOUT_MAX	 ((__s64)(~0ULL >> 1)) /* milliseconds; stands for all that is longer */

/* Reads seconds, and the fraction that `kind` says, from user memory; false: they cannot be read. */
static __always_inline bool read_time(const struct slot *slot, __u64 argument, __s64 time[2])
{
	__s32 compat[2];

	if (slot->abi == IOTR_ABI_NATIVE || slot->kind == IOTR_PLUG_TIMESPEC64)
		return !bpf_probe_read_user(time, 2 * sizeof(time[0]), (void *)argument);
	if (bpf_probe_read_user(compat, sizeof(compat), (void *)argument))
		return false;
	time[0] = compat[0];
	time[1] = compat[1];
	return true;
}

/* The timeout in milliseconds; -1: none, the call waits without limit; false: it cannot be read, or is invalid. */
static __always_inline bool timeout_ms(struct slot *slot, __u64 argument, __s64 *timeout)
{
	__s64 time[2] = { 0, 0 };

	*timeout = -1;
	if (slot->kind == IOTR_PLUG_PLAIN && (__s32)argument >= 0)
		*timeout = (__s32)argument;
	if (slot->kind == IOTR_PLUG_PLAIN || !argument)
		return true;
	if (!read_time(slot, argument, time)) {
		slot->own[OWN_STATE] |= TIMEOUT_UNREAD;
		return false;
	}
	if (time[0] < 0 || time[1] < 0)
		return false;
	*timeout = TIMEOUT_MAX;
	if ((__u64)time[0] >= SECONDS_MAX || (__u64)time[1] >= SECONDS_MAX)
		return true;
	if (slot->kind == IOTR_PLUG_TIMEVAL)
		*timeout = time[0] * 1000 + ((__u64)time[1] + 999) / 1000;
	else
		*timeout = time[0] * 1000 + ((__u64)time[1] + 999999) / 1000000;
	return true;
}

static __always_inline void note_timeout(struct slot *slot)
{
	__u64 argument = slot->operation == IOTR_EPOLL_EPOLL_WAIT ? slot->args[3] :
			 slot->operation == IOTR_EPOLL_POLL	  ? slot->args[2] :
								    slot->args[4];
	__s64 timeout;

	slot->own[OWN_STATE] = 0;
	if (timeout_ms(slot, argument, &timeout))
		slot->own[OWN_STATE] |= HAS_TIMEOUT;
	slot->own[OWN_TIMEOUT] = timeout;
}

static __always_inline bool waits(const struct slot *slot)
{
	return slot->operation >= IOTR_EPOLL_EPOLL_WAIT;
}

/* Joins (ORs) the event masks of an array in user memory; false: none could be read. */
static __always_inline bool masks(__u64 array, __u32 count, __u32 stride, __u32 width, __u32 *together)
{
	bool any = false;

	for (__u32 i = 0; i < MASKS_MAX && i < count; i++) {
		__u32 mask = 0;

		if (bpf_probe_read_user(&mask, width, (void *)(array + i * stride)))
			break;
		*together |= mask;
		any = true;
	}
	return any;
}

static __always_inline void fill_epoll(struct iotr_epoll_record *row, __s32 fd)
{
	row->epoll_fd = fd;
	row->has_epoll = true;
}

static __always_inline void fill_ctl(struct iotr_epoll_record *row, const struct slot *slot)
{
	fill_epoll(row, slot->args[0]);
	row->op = slot->args[1];
	row->target_fd = slot->args[2];
	row->has_target = true;
	row->has_events = row->op != CTL_DEL &&
			  !bpf_probe_read_user(&row->events, sizeof(row->events), (void *)slot->args[3]);
}

static __always_inline void fill_wait(struct iotr_epoll_record *row, const struct slot *slot, long result)
{
	fill_epoll(row, slot->args[0]);
	row->max_events = (__s32)slot->args[2];
	if (result > 0)
		row->has_events = masks(slot->args[1], result, EPOLL_EVENT_SIZE, sizeof(__u32),
					&row->events);
}

static __always_inline void fill_poll(struct iotr_epoll_record *row, const struct slot *slot)
{
	__u32 count = slot->args[1];

	row->max_events = count;
	row->has_events = masks(slot->args[0] + 4, count, POLL_FD_SIZE, sizeof(__u16), &row->events);
	row->has_target = count == 1 && !bpf_probe_read_user(&row->target_fd, sizeof(row->target_fd),
							     (void *)slot->args[0]);
}

static __always_inline void fill(struct iotr_epoll_record *row, const struct slot *slot, long result)
{
	row_clear_from(row, sizeof(row->head), sizeof(*row));
	row->result = result;
	row->waits = waits(slot);
	if (row->waits) {
		row->has_timeout = !!(slot->own[OWN_STATE] & HAS_TIMEOUT);
		row->timeout_ms = slot->own[OWN_TIMEOUT];
		row->head.unread = slot->own[OWN_STATE] & TIMEOUT_UNREAD && result >= 0;
		row->ready_count = ready_count(slot);
		__builtin_memcpy(row->ready, &slot->own[OWN_READY], sizeof(row->ready));
	}
	switch (slot->operation) {
	case IOTR_EPOLL_EPOLL_CREATE:
		if (result >= 0)
			fill_epoll(row, result);
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
		row->max_events = (__s32)slot->args[0];
		break;
	}
}

/* Remembers the item that a call has added or changed. */
static __always_inline void item_note(const struct slot *slot)
{
	__u64 epoll = epoll_of_fd(slot->args[0]), item;

	if (!epoll || slot->args[1] == CTL_DEL)
		return;
	item = item_of_fd(epoll, slot->args[2]);
	if (item)
		item_keep(epoll, item);
}

static __always_inline void note_ready(const struct slot *slot, long result)
{
	switch (slot->operation) {
	case IOTR_EPOLL_EPOLL_WAIT:
		ready_of_wait(slot, result);
		break;
	case IOTR_EPOLL_POLL:
		if (result)
			ready_of_poll(slot, result);
		break;
	case IOTR_EPOLL_SELECT:
		if (result)
			ready_of_select(slot);
		break;
	}
}

static __always_inline int epoll_begins(struct call_context context)
{
	struct slot *slot = plug_begins(context);

	if (slot && waits(slot))
		note_timeout(slot);
	return 0;
}

static __always_inline int epoll_ends(struct call_context context, long result)
{
	struct slot *slot = plug_ends(context, result);
	struct iotr_epoll_record *row;

	if (!slot)
		return 0;
	if (slot->operation == IOTR_EPOLL_EPOLL_WAIT && !(slot->own[OWN_STATE] & HAS_TIMEOUT))
		note_timeout(slot); /* the page was not in memory at the start; epoll_pwait2 does not overwrite it */
	if (slot->operation == IOTR_EPOLL_EPOLL_CTL && !result)
		item_note(slot);
	else if (waits(slot) && !plug_failed(result))
		note_ready(slot, result);
	row = plug_row(slot, sizeof(*row), IOTR_UNKNOWN, plug_failed(result));
	if (row) {
		fill(row, slot, result);
		row_commit(row);
	}
	plug_done(slot, context);
	return 0;
}

PLUG_PROGRAMS(EPOLL, epoll, epoll_begins, epoll_ends)

char LICENSE[] SEC("license") = "GPL";
