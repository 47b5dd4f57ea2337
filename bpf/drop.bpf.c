// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Segments that TCP retransmits. It does so in timers and while it handles packets, which interrupt any
 * task: the current task has nothing to do with it, so the row names the owner of the socket and no
 * process. A segment that could not be sent makes no row on any kernel.
 */
#include "iotracer.bpf.h"

#define FAMILY_INET  2
#define FAMILY_INET6 10

/* Sessions that accept a segment of `size` bytes of a socket that `uid` owns. */
static __always_inline __u64 sessions_of(struct iotr_control *page, __u32 uid, __u32 size)
{
	__u64 sessions = page->operation[IOTR_DROP][IOTR_DROP_TCP_RETRANSMIT] & page->open;

	sessions = filter_fileless(page, sessions);
	sessions &= ~(page->filtered[IOTR_FILTER_PID] | page->filtered[IOTR_FILTER_COMMAND] |
		      page->filtered[IOTR_FILTER_CGROUP]); /* the row names no process to compare with */
	sessions = FILTER_UID(page, sessions, uid);
	sessions = sample(page, IOTR_DROP, sessions);
	return filter_end(page, sessions, 0, size, false);
}

static __always_inline void fill_addresses(struct iotr_drop_record *row, struct sock_common *common)
{
	__u32 family = READ(struct sock_common, common, skc_family);

	row->source_port = READ(struct sock_common, common, skc_num);
	row->dest_port = __builtin_bswap16(READ(struct sock_common, common, skc_dport));
	if (family == FAMILY_INET) {
		row->version = 4;
		bpf_core_read(row->source, 4, &common->skc_rcv_saddr);
		bpf_core_read(row->dest, 4, &common->skc_daddr);
	} else if (family == FAMILY_INET6 && bpf_core_field_exists(common->skc_v6_daddr)) {
		row->version = 6;
		bpf_core_read(row->source, sizeof(row->source), &common->skc_v6_rcv_saddr);
		bpf_core_read(row->dest, sizeof(row->dest), &common->skc_v6_daddr);
	}
}

/* Segments that the kernel counts of a buffer that it sends; 0: not known. */
static __always_inline __u32 segments_of(__u64 skb)
{
	if (!bpf_core_field_exists(((struct tcp_skb_cb *)0)->tcp_gso_segs))
		return 0;
	return READ(struct tcp_skb_cb, skb + bpf_core_field_offset(struct sk_buff, cb), tcp_gso_segs);
}

/* `common` is the connection, `sk` its owner: of a connection not yet accepted, that is the listening socket. */
static __always_inline int retransmit(void *common, void *sk, __u32 size, __u32 segments)
{
	__u32 uid = READ(struct sock, sk, sk_uid.val);
	struct iotr_control *page = control_page();
	__u64 sessions, now = bpf_ktime_get_ns();
	struct iotr_drop_record *row;

	if (!page)
		return 0;
	sessions = sessions_of(page, uid, size);
	if (!sessions)
		return 0;
	row = row_begin(IOTR_DROP, IOTR_DROP_TCP_RETRANSMIT, sizeof(*row), sessions);
	if (!row)
		return 0;
	row_clear(row, sizeof(*row));
	head_fill(&row->head, sessions, now, now);
	row->head.cgroup_id = IOTR_UNKNOWN;
	row->head.uid = uid;
	row->packet_size = size;
	row->segments = segments;
	row->state = READ(struct sock_common, common, skc_state);
	fill_addresses(row, common);
	row_commit(row);
	return 0;
}

SEC("tp_btf/tcp_retransmit_skb")
int BPF_PROG(retransmit__2, struct sock *sk, struct sk_buff *skb)
{
	return retransmit(sk, sk, READ(struct sk_buff, skb, len), segments_of((__u64)skb));
}

/* For newer kernels, which also report attempts that failed. */
SEC("tp_btf/tcp_retransmit_skb")
int BPF_PROG(retransmit__3, struct sock *sk, struct sk_buff *skb, int error)
{
	return error ? 0 : retransmit(sk, sk, READ(struct sk_buff, skb, len), segments_of((__u64)skb));
}

/* A SYN-ACK is built anew for each retransmission, and has no data. */
SEC("tp_btf/tcp_retransmit_synack")
int BPF_PROG(retransmit_synack, struct sock *sk, struct request_sock *request)
{
	return retransmit(request, sk, 0, 1);
}

char LICENSE[] SEC("license") = "GPL";
