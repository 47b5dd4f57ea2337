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

/*
 * A random number below 2^63, of a linear congruential generator, which costs the least. Its low bits repeat early, so what is
 * drawn is decided by the high ones. If an interrupt draws between read and write, two events share a number.
 */
static __always_inline __u64 sample_draw(void)
{
	__u64 *last = &draws[bpf_get_smp_processor_id() & (IOTR_DRAWS - 1)].last, draw;

	draw = *last ?: (__u64)bpf_get_prandom_u32() << 32 | 1;
	draw = draw * 6364136223846793005ULL + 1;
	*last = draw;
	return draw >> 1;
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
