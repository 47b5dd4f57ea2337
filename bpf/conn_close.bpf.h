/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sockets that are closed many at once: by close_range, and by the end of the last thread that has a
 * table of descriptors. Their rows are written before that happens, and have no latency.
 */
#pragma once

#include "conn_row.bpf.h"
#include "plug.bpf.h"

#define CLOSE_WORDS	    64 /* words of 64 descriptors that are looked at, so 4096 descriptors */
#define CLOSE_RANGE_UNSHARE 2
#define CLOSE_RANGE_CLOEXEC 4 /* closes nothing */
#define EXITS		    1024
#define EEXIST		    17

/* Tables of descriptors that several threads had until their process ended, and whose end is handled: see end_is_new(). */
HASH_OF(exits, LRU_HASH, __u64, __u8, EXITS);

/* Writes a row for a descriptor if it is a socket. A global function. */
__noinline int close_row(__u32 fd, __u64 sessions)
{
	struct task_struct *task = current_task();
	__u64 sock = sock_of_fd(fd), now = bpf_ktime_get_ns();
	struct iotr_conn_record *row;

	if (!sock)
		return 0;
	row = row_begin(IOTR_CONN, IOTR_CONN_CLOSE, sizeof(*row), sessions);
	if (!row)
		return 0;
	head_fill(&row->head, sessions, now, now);
	head_fill_current(&row->head, task);
	row_clear_from(row, sizeof(row->head), sizeof(*row));
	socket_fill(&row->socket, sock);
	socket_kind(row);
	unix_names_fill(row, sock);
	row->fd = fd;
	row->has_fd = true;
	row_commit(row);
	return 0;
}

/* Writes rows for the descriptors whose bits are set, counted from `least`. A global function, as are the next two. */
__noinline int close_bits(__u32 least, __u64 open, __u64 sessions)
{
	for (__u32 bit = 0; bit < 64 && open; bit++) {
		if (open & 1)
			close_row(least + bit, sessions);
		open >>= 1;
	}
	return 0;
}

/* Handles those of the 64 descriptors from `least` on that are open and in `first` to `last`; 0: there are no more. */
__noinline int close_word(__u32 least, __u32 first, __u32 last, __u64 sessions)
{
	struct files_struct *files = FOLLOW(current_task(), files);
	struct fdtable *table = files ? READ(struct files_struct, files, fdt) : NULL;
	__u64 open = 0;

	if (!table || least >= READ(struct fdtable, table, max_fds) || least > last)
		return 0;
	bpf_probe_read_kernel(&open, sizeof(open), READ(struct fdtable, table, open_fds) + least / 64);
	if (least < first)
		open &= ~0ULL << (first & 63);
	if (last - least < 63)
		open &= ~0ULL >> (63 - (last & 63));
	close_bits(least, open, sessions);
	return 1;
}

/* Writes rows for the open sockets from descriptor `first` up to `last`. */
__noinline int close_rows(__u32 first, __u32 last, __u64 sessions)
{
	for (__u32 i = 0; i < CLOSE_WORDS; i++)
		if (!close_word((first / 64 + i) * 64, first, last, sessions))
			break;
	return 0;
}

/* Sessions that accept the end of a CLOSE, which has no latency, size or error here. */
static __always_inline __u64 content(struct iotr_control *page, __u64 sessions)
{
	return filter_end(page, sessions, 0, IOTR_UNKNOWN, false);
}

static __always_inline int close_range(const struct plug_call *call)
{
	struct iotr_control *page = control_page();
	__u64 sessions = page ? content(page, call->sessions) : 0;

	if (sessions && call->args[0] <= (__u32)call->args[1] && !(call->args[2] & ~CLOSE_RANGE_UNSHARE))
		close_rows(call->args[0], call->args[1], sessions);
	return 0;
}

/* Tasks that may have a table together with a thread, as they are of its process: not a first thread that is a zombie. */
static __always_inline int users_within(struct task_struct *task, struct task_struct *leader)
{
	int threads = READ(struct signal_struct, FOLLOW(task, signal), nr_threads);

	return leader != task && READ(struct task_struct, leader, exit_state) ? threads - 1 : threads;
}

/*
 * Whether a table of descriptors with so many users is closed when the current thread has ended, and those that end beside it:
 * the thread is the only user, or all users are of its process, in which no thread goes on.
 */
static __always_inline bool table_ends(struct task_struct *task, struct task_struct *leader, int users)
{
	return users == 1 || (READ(struct signal_struct, FOLLOW(task, signal), live.counter) <= 0 &&
			      users <= users_within(task, leader));
}

/*
 * Whether the end of a table has not been handled yet: each of the last threads may find that it ends, and the first of them
 * marks it as handled. The only user marks nothing: most processes have but one thread, and to mark takes longer than all else
 * here.
 */
static __always_inline bool end_is_new(struct task_struct *leader, struct files_struct *files, int users, __u32 tgid)
{
	__u64 key = iotr_mix(READ(struct task_struct, leader, start_time), tgid) ^ number_of((__u64)files);
	__u8 seen = 1;

	if (users == 1)
		return !bpf_map_lookup_elem(&exits, &key);
	/* The helper of older kernels returns an int, whose upper half is undefined in a comparison of 64 bits. */
	return (int)bpf_map_update_elem(&exits, &key, &seen, BPF_NOEXIST) != -EEXIST;
}

/* The current thread ends, and its table of descriptors maybe with it. One sampling draw for all of them. */
static __always_inline int thread_ends(void)
{
	struct iotr_control *page = control_page();
	struct task_struct *task = current_task();
	struct task_struct *leader = FOLLOW(task, group_leader);
	struct files_struct *files = FOLLOW(task, files);
	__u32 tgid = task_tgid(task);
	__u64 sessions;
	int users;

	if (!page || !files || is_own(page, tgid))
		return 0;
	sessions = filter_fileless(page, page->operation[IOTR_CONN][IOTR_CONN_CLOSE]);
	users = READ(struct files_struct, files, count.counter);
	if (!sessions || !table_ends(task, leader, users))
		return 0;
	sessions = filter_task(page, task, sessions, tgid);
	if (!sessions || !end_is_new(leader, files, users, tgid))
		return 0;
	sessions = content(page, sample(page, IOTR_CONN, sessions));
	if (sessions)
		close_rows(0, ~0U, sessions);
	return 0;
}
