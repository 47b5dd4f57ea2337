// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Cgroups of version 2 that are made and removed, for the table of a session's cgroups. Attached only while a session
 * runs, and run only when a cgroup comes or goes: no row costs more. Pointers have their BTF types here, so that plain
 * loads work.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "cgroup_event.h"
#include "kernel.h"

#define RING_BYTES (512 * 1024)
#define WAKE_BYTES (RING_BYTES / 8) /* from which on the daemon is woken; otherwise it looks once a second */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, RING_BYTES);
} cgroup_events SEC(".maps");

/* Events for which the ring had no room. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} cgroup_events_lost SEC(".maps");

static __always_inline void count_lost(void)
{
	__u32 zero = 0;
	__u64 *lost = bpf_map_lookup_elem(&cgroup_events_lost, &zero);

	if (lost)
		__sync_fetch_and_add(lost, 1);
}

/* To wake the daemon costs whoever makes a cgroup more than all else here. */
static __always_inline __u64 wakes(void)
{
	return bpf_ringbuf_query(&cgroup_events, BPF_RB_AVAIL_DATA) < WAKE_BYTES ? BPF_RB_NO_WAKEUP : BPF_RB_FORCE_WAKEUP;
}

static __always_inline int tell(struct cgroup *cgroup, __u64 gone)
{
	struct cgroup_subsys_state *parent = cgroup->self.parent;
	struct iotr_cgroup_event *event;

	if (cgroup->root->hierarchy_id)
		return 0; /* of version 1 */
	event = bpf_ringbuf_reserve(&cgroup_events, sizeof(*event), 0);
	if (!event) {
		count_lost();
		return 0;
	}
	event->id = cgroup->kn->id;
	event->parent = parent ? parent->cgroup->kn->id : 0;
	event->mono_ns = bpf_ktime_get_ns();
	event->gone = gone;
	event->name[0] = '\0';
	bpf_probe_read_kernel_str(event->name, sizeof(event->name), cgroup->kn->name);
	bpf_ringbuf_submit(event, wakes());
	return 0;
}

SEC("tp_btf/cgroup_mkdir")
int BPF_PROG(hierarchy_made, struct cgroup *cgroup, const char *path)
{
	return tell(cgroup, 0);
}

SEC("tp_btf/cgroup_rmdir")
int BPF_PROG(hierarchy_gone, struct cgroup *cgroup, const char *path)
{
	return tell(cgroup, 1);
}

char LICENSE[] SEC("license") = "GPL";
