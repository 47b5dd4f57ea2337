/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Filters: each narrows a session mask to the sessions that accept an event. */
#pragma once

#include "cgroups.bpf.h"
#include "read.bpf.h"

#define FIRST_MAJOR (1 << 20) /* numbers below are of file systems without a disk of their own */

/* Whether a filter may have the value. Most values are in none, which is found out here without a map lookup. */
static __always_inline bool hinted(struct iotr_control *page, __u32 kind, __u64 value)
{
	return page->hints[kind][value & (IOTR_HINTS - 1)];
}

/* Sessions of the mask that either do not filter by this kind or accept the key, which is looked up where the hint says so. */
#define FILTER_KEY(page, sessions, kind, look_up, value)                                        \
	({                                                                                      \
		__u64 users_ = (page)->filtered[kind] & (sessions);                             \
		if (users_ && hinted(page, kind, value)) {                                      \
			__u64 *accepted_ = look_up;                                             \
			users_ &= accepted_ ? ~*accepted_ : ~0ULL;                              \
		}                                                                               \
		(sessions) & ~users_;                                                           \
	})

/* A lookup by a number, which is put into memory there alone. */
#define LOOK_UP(map, number)                                                                    \
	({                                                                                      \
		__u32 key_ = number;                                                            \
		bpf_map_lookup_elem(map, &key_);                                                \
	})

#define FILTER_COMMAND(page, sessions, command)                                                 \
	FILTER_KEY(page, sessions, IOTR_FILTER_COMMAND, bpf_map_lookup_elem(&accept_command, command), \
		   iotr_command_hint((const __u64 *)(command)->text))
#define FILTER_PID(page, sessions, pid) FILTER_KEY(page, sessions, IOTR_FILTER_PID, LOOK_UP(&accept_pid, pid), pid)
#define FILTER_UID(page, sessions, uid) FILTER_KEY(page, sessions, IOTR_FILTER_UID, LOOK_UP(&accept_uid, uid), uid)

/* Sessions that do not filter by this kind, and those of the rest that are in `accepted`. */
static __always_inline __u64 filter_accepted(struct iotr_control *page, __u64 sessions, __u32 kind,
					     __u64 accepted)
{
	return sessions & ~(page->filtered[kind] & ~accepted);
}

/* Sessions without a filter by device or path, which alone can accept rows that have neither. */
static __always_inline __u64 filter_fileless(struct iotr_control *page, __u64 sessions)
{
	return sessions & ~page->filtered_file;
}

/* The current task, and its process: one branch for both, as where there are two a register is lost between them. */
static __always_inline struct task_struct *current_process(__u32 *tgid)
{
	struct task_struct *task;

	if (TASK_IS_TYPED) {
		task = bpf_get_current_task_btf();
		*tgid = task->tgid;
		return task;
	}
	*tgid = bpf_get_current_pid_tgid() >> 32;
	return (struct task_struct *)bpf_get_current_task();
}

static __always_inline __u64 filter_task(struct iotr_control *page, struct task_struct *task,
					 __u64 sessions, __u32 tgid)
{
	struct iotr_command command;
	__u64 by_pid;
	__u32 uid;

	sessions &= page->open;
	if (!(sessions & page->filtered_task))
		return sessions;
	by_pid = sessions & page->filtered[IOTR_FILTER_PID];
	if (by_pid == sessions && !hinted(page, IOTR_FILTER_PID, tgid))
		return 0; /* most processes, where all sessions name theirs */
	if (by_pid)
		sessions = FILTER_PID(page, sessions, tgid);
	if (!sessions)
		return 0;
	if (sessions & page->filtered[IOTR_FILTER_UID]) {
		uid = task_uid(task);
		sessions = FILTER_UID(page, sessions, uid);
	}
	if (sessions & page->filtered[IOTR_FILTER_COMMAND]) {
		task_command(task, &command);
		sessions = FILTER_COMMAND(page, sessions, &command);
	}
	if (sessions & page->filtered[IOTR_FILTER_CGROUP])
		sessions = filter_accepted(page, sessions, IOTR_FILTER_CGROUP,
					   cgroup_accepted(page, task));
	return sessions;
}

/* Whether the process is one of iotracer's own, which make no rows: see daemon/probes/own.h. */
static __always_inline bool is_own(struct iotr_control *page, __u32 tgid)
{
	__u64 *left_out;

	if (__builtin_expect(!page->own_hints[tgid & (IOTR_HINTS - 1)], 1))
		return false;
	left_out = LOOK_UP(&own_processes, tgid);
	if (left_out)
		__sync_fetch_and_add(left_out, 1);
	return left_out;
}

/* Sessions of the mask that accept what a thread, which is current_task(), does. */
static __always_inline __u64 filter_thread(struct iotr_control *page, struct task_struct *task, __u64 sessions)
{
	__u32 tgid = task_tgid(task);

	return is_own(page, tgid) ? 0 : filter_task(page, task, sessions, tgid);
}

/* The same of the current thread. */
static __always_inline __u64 filter_current(struct iotr_control *page, __u64 sessions)
{
	return sessions ? filter_thread(page, current_task(), sessions) : 0;
}

/* Sessions that accept the file system that a subvolume of btrfs is of, as far as that is known: see devices.bpf.h. A global function. */
__noinline __u64 filter_volume(__u64 sessions, __u32 device)
{
	struct iotr_control *page = control_page();
	__u64 *known = LOOK_UP(&volumes, device & (IOTR_VOLUMES - 1));
	__u32 super;

	if (!page || !known || (__u32)*known != device)
		return 0;
	super = *known >> 32;
	return FILTER_KEY(page, sessions, IOTR_FILTER_DEVICE, LOOK_UP(&accept_device, super), super);
}

/* A session may name a btrfs by the number of its super block, too, as the disk's is not that of its files. */
static __always_inline __u64 filter_device(struct iotr_control *page, __u64 sessions, __u32 device)
{
	__u64 accepted = FILTER_KEY(page, sessions, IOTR_FILTER_DEVICE, LOOK_UP(&accept_device, device), device);

	if (accepted != sessions && device && device < FIRST_MAJOR)
		accepted |= filter_volume(sessions, device);
	return accepted;
}

/* Sessions of `users` whose threshold in `least` is above the value; both are below 2^63. */
static __always_inline __u64 below_least(__u64 users, const __u64 *least, __u64 value)
{
	__u64 below = 0;

	for (int bit = 0; bit < IOTR_SESSION_SLOTS && users >> bit; bit++)
		below |= (value - least[bit]) >> 63 << bit; /* no branch: the verifier would follow both */
	return below & users;
}

/* Sessions that had their slots at that time already. A global function. */
__noinline __u64 begun_by(__u64 sessions, __u64 time)
{
	struct iotr_control *page = control_page();

	return page ? sessions & ~below_least(sessions, page->begun_ns, time) : 0;
}

/*
 * At the end of an event: the sessions of its mask that are still those it began for. The slots of
 * sessions that have ended meanwhile may have been given to others, which began after the event.
 */
static __always_inline __u64 filter_begun(struct iotr_control *page, __u64 sessions, __u64 start)
{
	return start < page->begun_last_ns ? begun_by(sessions, start) : sessions;
}

/* Narrows a session mask by the filters that are decided at an event's end: latency, size, error. A global function. */
__noinline __u64 filter_outcome(__u64 sessions, __u64 latency, __u64 size, __u32 failed)
{
	struct iotr_control *page = control_page();

	if (!page)
		return 0;
	if (!failed)
		sessions &= ~page->filtered[IOTR_FILTER_ERRORS];
	if (size >> 63) /* unknown, or more than can be compared */
		size = size == IOTR_UNKNOWN ? 0 : ~0ULL >> 1;
	sessions &= ~below_least(sessions & page->filtered[IOTR_FILTER_LATENCY],
				 page->min_latency_ns, latency);
	return sessions & ~below_least(sessions & page->filtered[IOTR_FILTER_SIZE], page->min_size, size);
}

static __always_inline __u64 filter_end(struct iotr_control *page, __u64 sessions, __u64 latency,
					__u64 size, bool failed)
{
	if (!(sessions & page->filtered_end))
		return sessions;
	return filter_outcome(sessions, latency, size, failed);
}
