/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one include of a stream's program: the shared maps, how to read the kernel, the filters, and
 * begin/commit of a row. The maps are created once by the daemon and handed to every object.
 */
#pragma once

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include <stdbool.h>

#include "kernel.h"
#include "control.h"

#define ARRAY_OF(name_, type_, count_, flags_)             \
	struct {                                           \
		__uint(type, BPF_MAP_TYPE_ARRAY);          \
		__uint(map_flags, flags_);                 \
		__uint(max_entries, count_);               \
		__type(key, __u32);                        \
		__type(value, type_);                      \
	} name_ SEC(".maps")

#define ARRAY_PER_CPU(name_, type_, count_)                \
	struct {                                           \
		__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);   \
		__uint(max_entries, count_);               \
		__type(key, __u32);                        \
		__type(value, type_);                      \
	} name_ SEC(".maps")

#define HASH_OF(name_, kind_, key_, value_, count_)        \
	struct {                                           \
		__uint(type, BPF_MAP_TYPE_##kind_);        \
		__uint(max_entries, count_);               \
		__type(key, key_);                         \
		__type(value, value_);                     \
	} name_ SEC(".maps")

struct iotr_command {
	char text[IOTR_COMMAND_SIZE] __attribute__((aligned(8)));
};

ARRAY_OF(control, struct iotr_control, 1, BPF_F_MMAPABLE);
ARRAY_OF(known, __u64, IOTR_KNOWN, BPF_F_MMAPABLE);

ARRAY_PER_CPU(counters, struct iotr_counters, IOTR_STREAM_COUNT);

/* Row rings, one per group of CPUs: filled in by the daemon. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 64);
	__type(key, __u32);
	__array(values, struct {
		__uint(type, BPF_MAP_TYPE_RINGBUF);
		__uint(max_entries, 1 << 20);
	});
} rings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20); /* the daemon sets the size */
} names SEC(".maps");

/* Programs of the streams that system calls go on to, by stream: filled in by the daemon. */
#define PROGRAMS_OF(name_)                                 \
	struct {                                           \
		__uint(type, BPF_MAP_TYPE_PROG_ARRAY);     \
		__uint(max_entries, IOTR_STREAM_COUNT);    \
		__type(key, __u32);                        \
		__type(value, __u32);                      \
	} name_ SEC(".maps")

PROGRAMS_OF(plug_enters);
PROGRAMS_OF(plug_exits);

HASH_OF(accept_pid, HASH, __u32, __u64, IOTR_FILTER_KEYS);
HASH_OF(accept_command, HASH, struct iotr_command, __u64, IOTR_FILTER_NAMES);
HASH_OF(accept_uid, HASH, __u32, __u64, IOTR_FILTER_NAMES);
HASH_OF(accept_device, HASH, __u32, __u64, IOTR_FILTER_NAMES);
HASH_OF(accept_cgroup, HASH, __u64, __u64, IOTR_CGROUPS);
HASH_OF(accept_unit, HASH, struct iotr_unit, __u64, IOTR_UNITS);
HASH_OF(path_inodes, HASH, struct iotr_path_inode, __u32, IOTR_PATH_NODES);
HASH_OF(path_steps, HASH, struct iotr_path_step, __u32, IOTR_PATH_NODES);

/* Set by the daemon before load. */
const volatile bool typed_reads = false; /* bpf_rdonly_cast is there */
const volatile __u32 ring_shift = 31;	 /* CPUs per row ring, as a power of two */

extern void *bpf_rdonly_cast(void *object, __u32 type_id) __ksym __weak;

/*
 * A field of a kernel object. Through a typed load where the kernel has them (a few instructions,
 * a fault reads as zero), else through a helper (some 30 ns).
 */
#define READ(type, object, field)                                                               \
	({                                                                                      \
		void *object_ = (void *)(object);                                               \
		typeof(((type *)0)->field) value_;                                              \
		if (typed_reads)                                                                \
			value_ = ((type *)bpf_rdonly_cast(object_,                              \
							  bpf_core_type_id_kernel(type)))       \
					 ->field;                                               \
		else                                                                            \
			bpf_core_read(&value_, sizeof(value_), &((type *)object_)->field);      \
		value_;                                                                         \
	})

/*
 * A pointer as a number, which may be reckoned with and handed to any function. A typed load of it
 * would be a pointer: it is taken for the seconds of a time.
 */
#define ADDRESS(type, object, field)                                                            \
	({                                                                                      \
		void *owner_ = (void *)(object);                                                \
		__u64 address_ = 0;                                                             \
		if (typed_reads)                                                                \
			address_ = READ(struct timespec64, owner_ + bpf_core_field_offset(type, field), \
					tv_sec);                                                \
		else                                                                            \
			bpf_core_read(&address_, sizeof(address_), &((type *)owner_)->field);   \
		address_;                                                                       \
	})

/* A typed pointer as a number, which functions of their own may be given. Swapped twice is the same. */
static __always_inline __u64 number_of(__u64 address)
{
	asm volatile("%0 = be64 %0; %0 = be64 %0" : "+r"(address));
	return address;
}

static __always_inline struct iotr_control *control_page(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&control, &zero);
}

static __always_inline struct task_struct *current_task(void)
{
	return (struct task_struct *)bpf_get_current_task();
}

/*
 * Who runs now. Where fields are typed loads, they are read from the task: a helper each would
 * cost more than all the rest of a row.
 */
static __always_inline __u32 task_tid(struct task_struct *task)
{
	return typed_reads ? (__u32)READ(struct task_struct, task, pid) :
			     (__u32)bpf_get_current_pid_tgid();
}

static __always_inline __u32 task_tgid(struct task_struct *task)
{
	return typed_reads ? (__u32)READ(struct task_struct, task, tgid) :
			     (__u32)(bpf_get_current_pid_tgid() >> 32);
}

static __always_inline __u32 task_ppid(struct task_struct *task)
{
	return READ(struct task_struct, READ(struct task_struct, task, real_parent), tgid);
}

static __always_inline __u32 task_uid(struct task_struct *task)
{
	return typed_reads ? READ(struct cred, READ(struct task_struct, task, cred), uid.val) :
			     (__u32)bpf_get_current_uid_gid();
}

static __always_inline __u64 task_cgroup(struct task_struct *task)
{
	struct cgroup *cgroup;

	if (!typed_reads)
		return bpf_get_current_cgroup_id();
	cgroup = READ(struct css_set, READ(struct task_struct, task, cgroups), dfl_cgrp);
	return READ(struct kernfs_node, READ(struct cgroup, cgroup, kn), id);
}

static __always_inline void task_command(struct task_struct *task, struct iotr_command *command)
{
	struct task_struct *typed;

	if (!typed_reads) {
		__builtin_memset(command, 0, sizeof(*command)); /* 6.1 writes nothing behind the end of a name */
		bpf_get_current_comm(command->text, sizeof(command->text));
		return;
	}
	typed = bpf_rdonly_cast(task, bpf_core_type_id_kernel(struct task_struct));
	((__u64 *)command->text)[0] = *(__u64 *)__builtin_preserve_access_index(&typed->comm[0]);
	((__u64 *)command->text)[1] = *(__u64 *)__builtin_preserve_access_index(&typed->comm[8]);
}

/* Which of struct iotr_counters to count in. */
enum counter {
	COUNT_EMITTED,
	COUNT_RING,
	COUNT_UNMATCHED,
};

/* Adds one to a counter of every session of the mask. A function of its own, verified once. */
__noinline int count_sessions(__u32 stream, __u32 counter, __u64 sessions)
{
	struct iotr_counters *counts = bpf_map_lookup_elem(&counters, &stream);
	__u64 *count;

	if (!counts)
		return 0;
	count = counter == COUNT_EMITTED ? counts->emitted :
		counter == COUNT_RING	 ? counts->ring :
					   counts->unmatched;
	for (int bit = 0; bit < IOTR_SESSION_SLOTS && sessions; bit++) {
		count[bit] += sessions & 1; /* no branch: the verifier would follow both */
		sessions >>= 1;
	}
	return 0;
}

/* The usual case without a loop: one session, the first. */
static __always_inline void count_emitted(__u32 stream, __u64 sessions)
{
	struct iotr_counters *counts;

	if (sessions != 1) {
		count_sessions(stream, COUNT_EMITTED, sessions);
		return;
	}
	counts = bpf_map_lookup_elem(&counters, &stream);
	if (counts)
		counts->emitted[0]++;
}

/* ---- filters: each narrows a mask of sessions ---- */

#include "cgroups.bpf.h"

/* Most values are in no filter; these are seen here, without a look into a map. */
static __always_inline bool hinted(struct iotr_control *page, __u32 kind, __u64 value)
{
	return page->hints[kind][value & (IOTR_HINTS - 1)];
}

/* Sessions of the mask that either do not filter by this kind or accept the key. */
#define FILTER_KEY(page, sessions, kind, map, key, value)                                       \
	({                                                                                      \
		__u64 users_ = (page)->filtered[kind] & (sessions);                             \
		if (users_ && hinted(page, kind, value)) {                                      \
			__u64 *accepted_ = bpf_map_lookup_elem(map, key);                       \
			users_ &= accepted_ ? ~*accepted_ : ~0ULL;                              \
		}                                                                               \
		(sessions) & ~users_;                                                           \
	})

#define FILTER_COMMAND(page, sessions, command)                                                 \
	FILTER_KEY(page, sessions, IOTR_FILTER_COMMAND, &accept_command, command,               \
		   iotr_command_hint((const __u64 *)(command)->text))
#define FILTER_PID(page, sessions, pid) FILTER_KEY(page, sessions, IOTR_FILTER_PID, &accept_pid, &(pid), pid)
#define FILTER_UID(page, sessions, uid) FILTER_KEY(page, sessions, IOTR_FILTER_UID, &accept_uid, &(uid), uid)

/* Sessions that do not filter by this kind, and those of the rest that are in `accepted`. */
static __always_inline __u64 filter_accepted(struct iotr_control *page, __u64 sessions, __u32 kind,
					     __u64 accepted)
{
	return sessions & ~(page->filtered[kind] & ~accepted);
}

/* Those that rows without a device and without a file can suit. */
static __always_inline __u64 filter_fileless(struct iotr_control *page, __u64 sessions)
{
	return sessions & ~(page->filtered[IOTR_FILTER_DEVICE] | page->filtered[IOTR_FILTER_PATH]);
}

static __always_inline __u64 filter_task(struct iotr_control *page, struct task_struct *task,
					 __u64 sessions, __u32 tgid)
{
	struct iotr_command command = {};
	__u32 uid;

	sessions &= page->open;
	if (!(sessions & page->filtered_task))
		return sessions;
	sessions = FILTER_PID(page, sessions, tgid);
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

/* Those that want what the current thread does. */
static __always_inline __u64 filter_current(struct iotr_control *page, __u64 sessions)
{
	struct task_struct *task;
	__u32 tgid;

	if (!sessions)
		return 0;
	task = current_task();
	tgid = task_tgid(task);
	return tgid == page->own_tgid ? 0 : filter_task(page, task, sessions, tgid);
}

static __always_inline __u64 filter_device(struct iotr_control *page, __u64 sessions, __u32 device)
{
	return FILTER_KEY(page, sessions, IOTR_FILTER_DEVICE, &accept_device, &device, device);
}

/* Those of `users` whose threshold lies above the value; both are below 2^63. */
static __always_inline __u64 below_least(__u64 users, const __u64 *least, __u64 value)
{
	__u64 below = 0;

	for (int bit = 0; bit < IOTR_SESSION_SLOTS && users >> bit; bit++)
		below |= (value - least[bit]) >> 63 << bit; /* no branch, as above */
	return below & users;
}

/* Those that had their places by then. A function of its own, verified once. */
__noinline __u64 begun_by(__u64 sessions, __u64 time)
{
	struct iotr_control *page = control_page();

	return page ? sessions & ~below_least(sessions, page->begun_ns, time) : 0;
}

/*
 * Sessions that an event was noted for when it began, at its end: places of those that have ended
 * meanwhile may be others' by now, for which it began too early.
 */
static __always_inline __u64 filter_begun(struct iotr_control *page, __u64 sessions, __u64 start)
{
	return start < page->begun_last_ns ? begun_by(sessions, start) : sessions;
}

/*
 * Sampling: a session that takes one in N events of a stream is content with an event when the
 * number drawn for it lies below the N-th part of all numbers. By chance, not by counting: who
 * counts sees of a program that reads and writes in turn only the reads. Drawn before all other
 * filters but that by operation, as it costs the least; they narrow what was drawn, and it makes no
 * difference which comes first. All sessions share the draw of an event, so the one that takes
 * fewer has part of what the one that takes more has.
 */
ARRAY_PER_CPU(draws, __u64, 1);

/*
 * Below 2^63, by xorshift64*, which takes no call of the kernel's generator. An interrupt between read
 * and write makes two events share a draw.
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

/* A function of its own, verified once. */
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
 * The same in two steps, where another program goes on to a stream's and can spare that: whether any
 * session may take the event, and, of an event for which that was so, which ones do. The second
 * draw is among the numbers that passed the first.
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

/* All that is decided when an event begins: whose it is, and the draw. */
static __always_inline __u64 filter_begin(struct iotr_control *page, struct task_struct *task,
					  __u32 stream, __u64 sessions, __u32 tgid)
{
	sessions = sample(page, stream, sessions);
	return filter_task(page, task, sessions, tgid);
}

/* Sessions that are content with how an event ended. A function of its own, verified once. */
__noinline __u64 filter_outcome(__u64 sessions, __u64 latency, __u64 size, __u32 failed)
{
	struct iotr_control *page = control_page();

	if (!page)
		return 0;
	if (!failed)
		sessions &= ~page->filtered[IOTR_FILTER_ERRORS];
	if (size >> 63)
		size = 0;
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

/* ---- rows ---- */

/* A row in the ring, or NULL, which is then counted as lost for the sessions. */
static __always_inline void *row_begin(__u32 stream, __u32 size, __u64 sessions)
{
	__u32 index = bpf_get_smp_processor_id() >> ring_shift;
	void *ring = bpf_map_lookup_elem(&rings, &index);
	void *row = ring ? bpf_ringbuf_reserve(ring, size, 0) : NULL;

	count_emitted(stream, sessions);
	if (!row)
		count_sessions(stream, COUNT_RING, sessions);
	return row;
}

static __always_inline void row_commit(void *row)
{
	bpf_ringbuf_submit(row, BPF_RB_NO_WAKEUP);
}

/* An event whose start had to be forgotten: emitted, and lost at once. */
static __always_inline void row_unmatched(__u32 stream, __u64 sessions)
{
	count_sessions(stream, COUNT_EMITTED, sessions);
	count_sessions(stream, COUNT_UNMATCHED, sessions);
}

/* One that was never seen to end, and has to make room for another. */
static __always_inline void row_unended(struct iotr_control *page, __u32 stream, __u64 sessions, __u64 start)
{
	row_unmatched(stream, filter_begun(page, sessions, start));
}

/*
 * Forgets what is under way by a key as another one begins there: it was never seen to end, and must not
 * end as that one does. `type` has `sessions` and `start_ns`.
 */
#define END_UNSEEN(stream, map, type, key)                                                        \
	do {                                                                                    \
		const type *unseen_ = bpf_map_lookup_elem(&map, &key);                          \
		struct iotr_control *page_ = control_page();                                    \
                                                                                                \
		if (page_ && unseen_) {                                                         \
			row_unended(page_, stream, unseen_->sessions, unseen_->start_ns);       \
			bpf_map_delete_elem(&map, &key);                                        \
		}                                                                               \
	} while (0)

static __always_inline void head_fill(struct iotr_record *head, __u32 size, __u32 stream,
				      __u32 operation, __u64 sessions, __u64 start, __u64 end)
{
	head->size = size;
	head->stream = stream;
	head->operation = operation;
	head->cpu = bpf_get_smp_processor_id();
	head->sessions = sessions;
	head->start_ns = start;
	head->latency_ns = end - start;
}

/* The daemon's and the client's own threads make no rows. */
static __always_inline bool command_is_ours(const struct iotr_command *command)
{
	const __u64 *words = (const __u64 *)command->text;

	return (words[0] == 0x7265636172746f69ULL && words[1] == 0x64) || /* iotracerd */
	       (words[0] == 0x6365636172746f69ULL && words[1] == 0x6c74); /* iotracectl */
}

/* Fills the actor's part of a head with the current thread. */
static __always_inline void head_fill_current(struct iotr_record *head, struct task_struct *task,
					      const struct iotr_command *command)
{
	head->cgroup_id = task_cgroup(task);
	head->pid = task_tgid(task);
	head->tid = task_tid(task);
	head->ppid = task_ppid(task);
	head->uid = task_uid(task);
	__builtin_memcpy(head->command, command->text, sizeof(head->command));
}
