/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sampling: a session that takes one in N events of a stream accepts an event if the random number
 * drawn for it lies below the N-th part of all numbers. Counting every N-th event would show only the
 * reads of a program that reads and writes in turn. The draw is made before all filters but that by
 * operation, as it costs the least; the order makes no difference to the result. All sessions share
 * the draw of an event, so a session that takes fewer events has a subset of what one with more has.
 */
#pragma once

#include "filters.bpf.h"

ARRAY_PER_CPU(draws, __u64, 1);

/*
 * A random number below 2^63, by xorshift64*, which needs no call of the kernel's generator. If an interrupt
 * draws between read and write, two events share a number.
 */
static __always_inline __u64 sample_draw(void)
{
	__u32 zero = 0;
	__u64 *last = bpf_map_lookup_elem(&draws, &zero), draw;

	if (!last)
		return 0;
	draw = *last ?: (__u64)bpf_get_prandom_u32() << 32 | 1;
	draw ^= draw >> 12;
	draw ^= draw << 25;
	draw ^= draw >> 27;
	*last = draw;
	return draw * 0x2545f4914f6cdd1dULL >> 1;
}

/* Sessions of the mask that take an event with that draw. A global function. */
__noinline __u64 sample_by(__u32 stream, __u64 sessions, __u64 draw)
{
	struct iotr_control *page = control_page();
	__u64 users;

	if (!page || stream >= IOTR_STREAM_COUNT)
		return 0;
	users = sessions & page->sampled[stream];
	return (sessions & ~users) | below_least(users, page->sample_below[stream], draw);
}

static __always_inline __u64 sample(struct iotr_control *page, __u32 stream, __u64 sessions)
{
	__u64 draw;

	if (!(sessions & page->sampled[stream & 15]))
		return sessions;
	draw = sample_draw();
	if (draw >= page->sample_most[stream & 15])
		return sessions & ~page->sampled[stream & 15];
	return sample_by(stream, sessions, draw);
}

/*
 * The same in two steps, so that a tail call to a stream's program can be spared: sample_first() says
 * whether any session may take the event; if so, sample_then() says which ones do. The second draw is
 * among the numbers that passed the first.
 */
static __always_inline bool sample_first(struct iotr_control *page, __u32 stream, __u64 sessions)
{
	return sessions & ~page->sampled[stream & 15] || sample_draw() < page->sample_most[stream & 15];
}

static __always_inline __u64 sample_then(struct iotr_control *page, __u32 stream, __u64 sessions)
{
	if (sessions & ~page->sampled[stream & 15])
		return sample(page, stream, sessions);
	return sample_by(stream, sessions, sample_draw() % page->sample_most[stream & 15]);
}

/* Sessions that accept an event at its start: by the draw and by filters on the task. */
static __always_inline __u64 filter_begin(struct iotr_control *page, struct task_struct *task,
					  __u32 stream, __u64 sessions, __u32 tgid)
{
	sessions = sample(page, stream, sessions);
	return filter_task(page, task, sessions, tgid);
}
