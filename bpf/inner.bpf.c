// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is known only while a call is under way, on functions that it goes through, and put into its slot: the inode of what a
 * path leads to, and the source of a datagram. Function level only.
 */
#include "devices.bpf.h"
#include "slots.bpf.h"
#include "sockets.bpf.h"

#define IPV4_SOURCE 12 /* offset of the source address in the header */
#define IPV6_SOURCE 8

/* ---- the inode of a path: at the LSM hook of the operation or, of what the call creates, where the file system returns ---- */

static __always_inline void inode_note(struct slot *slot, struct dentry *dentry)
{
	struct inode *inode = READ(struct dentry, dentry, d_inode);

	if (!inode)
		return;
	slot->file.inode = READ(struct inode, inode, i_ino);
	slot->file.device = device_of(number_of((__u64)inode), (__u64)READ(struct dentry, dentry, d_sb));
}

/* Takes the first inode of a call: those that follow are a stacked file system's, of the one below it. */
static __always_inline int inode_found(struct dentry *dentry)
{
	struct slot *slot = slot_find(thread_here());

	if (slot && slot->sessions && !slot->has_fd && slot->file.inode == IOTR_UNKNOWN)
		inode_note(slot, dentry);
	return 0;
}

/* Takes the last inode of a call: a stacked file system creates those in the one below it before its own. */
static __always_inline int inode_made(struct dentry *dentry)
{
	struct slot *slot = slot_find(thread_here());

	if (!slot || !slot->sessions || slot->has_fd)
		return 0;
	slot->file.inode = IOTR_UNKNOWN;
	slot->file.device = 0;
	inode_note(slot, dentry);
	return 0;
}

/*
 * FOUND(hook, program, arguments...) and MADE(function, program, arguments...), one of which is `dentry`. Where kernels
 * differ in the arguments, the program of each variant is named __N by their number.
 */
#define FOUND(hook, program, ...)                  \
	SEC("fentry/" #hook)                       \
	int BPF_PROG(program, __VA_ARGS__)         \
	{                                          \
		return inode_found(dentry);        \
	}

#define MADE(function, program, ...)               \
	SEC("fexit/" #function)                    \
	int BPF_PROG(program, __VA_ARGS__)         \
	{                                          \
		return inode_made(dentry);         \
	}

FOUND(security_inode_unlink, inode_unlink, struct inode *folder, struct dentry *dentry)
FOUND(security_inode_rmdir, inode_rmdir, struct inode *folder, struct dentry *dentry)
FOUND(security_inode_link, inode_link, struct dentry *dentry)
FOUND(security_inode_rename, inode_rename, struct inode *folder, struct dentry *dentry)
FOUND(security_inode_setattr, inode_setattr__2, struct dentry *dentry)
FOUND(security_inode_setattr, inode_setattr__3, void *idmap, struct dentry *dentry)
FOUND(security_inode_readlink, inode_readlink, struct dentry *dentry)
FOUND(security_inode_getxattr, inode_getxattr, struct dentry *dentry)
FOUND(security_inode_listxattr, inode_listxattr, struct dentry *dentry)
FOUND(security_inode_setxattr, inode_setxattr__5, struct dentry *dentry)
FOUND(security_inode_setxattr, inode_setxattr__6, void *idmap, struct dentry *dentry)
FOUND(security_inode_removexattr, inode_removexattr__2, struct dentry *dentry)
FOUND(security_inode_removexattr, inode_removexattr__3, void *idmap, struct dentry *dentry)

/* For ustat this is the root of the file system. */
FOUND(security_sb_statfs, inode_statfs, struct dentry *dentry)

/* For mknod of regular files. Kernels with 4 arguments have them in one of two orders, so those are left out. */
MADE(vfs_create, inode_create__5, void *idmap, struct inode *folder, struct dentry *dentry)
MADE(vfs_mknod, inode_mknod__5, void *idmap, struct inode *folder, struct dentry *dentry)
MADE(vfs_mknod, inode_mknod__6, void *idmap, struct inode *folder, struct dentry *dentry)
MADE(vfs_mkdir, inode_mkdir__3, struct inode *folder, struct dentry *dentry)
MADE(vfs_mkdir, inode_mkdir__4, void *idmap, struct inode *folder, struct dentry *dentry)
MADE(vfs_mkdir, inode_mkdir__5, void *idmap, struct inode *folder, struct dentry *dentry)
MADE(vfs_symlink, inode_symlink__3, struct inode *folder, struct dentry *dentry)
MADE(vfs_symlink, inode_symlink__4, void *idmap, struct inode *folder, struct dentry *dentry)
MADE(vfs_symlink, inode_symlink__5, void *idmap, struct inode *folder, struct dentry *dentry)

/* ---- a datagram that was received ---- */

/* Whether the call in flight receives a single datagram whose source is not known yet. */
static __always_inline bool receives_datagram(const struct slot *slot)
{
	const struct noted *noted = (const struct noted *)slot->own;

	return slot->sessions && slot->stream == IOTR_NET && slot->operation == IOTR_NET_RECEIVE &&
	       slot->kind != IOTR_PLUG_MESSAGES && !noted->socket.remote_port;
}

static __always_inline void source_fill(struct iotr_socket *socket, __u64 skb)
{
	__u64 head = (__u64)READ(struct sk_buff, skb, head);
	__u64 network = head + READ(struct sk_buff, skb, network_header);
	__u64 transport = head + READ(struct sk_buff, skb, transport_header);
	__u8 version = 0;
	__u16 port = 0;

	bpf_probe_read_kernel(&version, sizeof(version), (void *)network);
	version >>= 4;
	if (version == 6 && socket->family == AF_INET6)
		bpf_probe_read_kernel(socket->remote, 16, (void *)(network + IPV6_SOURCE));
	else if (version == 4)
		bpf_probe_read_kernel(address_v4(socket, socket->remote), 4, (void *)(network + IPV4_SOURCE));
	else
		return;
	bpf_probe_read_kernel(&port, sizeof(port), (void *)transport);
	socket->remote_port = bpf_ntohs(port);
}

/* The sender is seen here even if the call does not ask for it. No tracepoint of all kernels is on this path. */
SEC("fentry/skb_consume_udp")
int BPF_PROG(datagram_received, struct sock *sk, struct sk_buff *skb, int size)
{
	struct slot *slot = thread_entry(THREAD_ARRAY(plugged), thread_here());

	if (slot && receives_datagram(slot))
		source_fill(&((struct noted *)slot->own)->socket, (__u64)skb);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
