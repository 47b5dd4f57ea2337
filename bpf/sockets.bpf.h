/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sockets: which one a descriptor refers to, and its addresses. */
#pragma once

#include <bpf/bpf_endian.h>

#include "files.bpf.h"

#define AF_UNIX	       1
#define AF_INET	       2
#define AF_INET6       10
#define SOCK_STREAM    1
#define SOCK_RAW       3
#define IPPROTO_ICMP   1
#define IPPROTO_TCP    6
#define IPPROTO_ICMPV6 58
#define SOCKADDR_IN    8  /* bytes read of the user's struct sockaddr_in */
#define SOCKADDR_IN6   24

/* What a slot saves of a socket when a call begins, in `own` of struct slot. */
struct noted {
	__u64 sock; /* struct sock, 0: the descriptor is no socket */
	struct iotr_socket socket;
};

/* The struct sock of an open file, or 0. */
static __always_inline __u64 sock_of_file(__u64 file)
{
	__u64 inode, socket;

	if (!file)
		return 0;
	inode = (__u64)READ(struct file, file, f_inode);
	if ((READ(struct inode, inode, i_mode) & S_IFMT) != S_IFSOCK)
		return 0;
	socket = (__u64)READ(struct file, file, private_data);
	return socket ? (__u64)READ(struct socket, socket, sk) : 0; /* NULL for an O_PATH descriptor of a socket file */
}

/* The same of a file whose type the verifier knows. */
static __always_inline __u64 sock_followed(struct file *file)
{
	__u64 socket;

	if ((file->f_inode->i_mode & S_IFMT) != S_IFSOCK)
		return 0;
	socket = number_of((__u64)file->private_data);
	return socket ? (__u64)READ(struct socket, socket, sk) : 0;
}

/* The struct sock of a descriptor of the current process, or 0. */
static __always_inline __u64 sock_of_fd(__u32 fd)
{
	return sock_of_file(file_of_fd(current_task(), fd));
}

/* The same by file_followed(), which is cheaper where it can be had, for programs in which few ways lead to it. */
static __always_inline __u64 sock_of_fd_followed(__u32 fd)
{
	struct file *file = TYPES_ARE_FOLLOWED ? file_followed(current_task(), fd) : NULL;

	return file ? sock_followed(file) : sock_of_fd(fd);
}

static __always_inline bool is_ip(__u32 family)
{
	return family == AF_INET || family == AF_INET6;
}

/* Whether the kernel's port fields are ports: for raw and ICMP sockets they hold other numbers. */
static __always_inline bool has_ports(const struct iotr_socket *socket)
{
	return socket->type != SOCK_RAW && socket->protocol != IPPROTO_ICMP &&
	       socket->protocol != IPPROTO_ICMPV6;
}

/*
 * The first members of a struct sock, and its type and protocol, which kernels without typed loads read at once: two calls of
 * the helper instead of eight.
 */
struct sock_head {
	__u64 words[3];
	__u16 type, protocol;
};

static __always_inline void sock_read(struct sock_head *head, __u64 sock)
{
	if (!typed_reads)
		bpf_probe_read_kernel(head->words, sizeof(head->words), (void *)sock);
	if (!typed_reads && FOLLOWS(struct sock, sk_type, sk_protocol, sizeof(head->type))) {
		bpf_probe_read_kernel(&head->type, sizeof(head->type) + sizeof(head->protocol),
				      (void *)sock + bpf_core_field_offset(struct sock, sk_type));
		return;
	}
	head->type = READ(struct sock, sock, sk_type);
	head->protocol = READ(struct sock, sock, sk_protocol);
}

/* A field of struct sock_common of which sock_read() was called. */
#define SOCK_FIELD(head, sock, field)                                                           \
	({                                                                                      \
		typeof(((struct sock_common *)0)->field) of_;                                   \
                                                                                                \
		if (!typed_reads && bpf_core_field_offset(struct sock_common, field) + sizeof(of_) <= sizeof((head)->words)) \
			of_ = *(typeof(of_) *)((void *)(head)->words + bpf_core_field_offset(struct sock_common, field)); \
		else                                                                            \
			of_ = READ(struct sock_common, sock, field);                            \
		of_;                                                                            \
	})

static __always_inline void ports_fill(struct iotr_socket *ret, const struct sock_head *head, __u64 sock)
{
	ret->local_port = SOCK_FIELD(head, sock, skc_num);
	ret->remote_port = bpf_ntohs(SOCK_FIELD(head, sock, skc_dport));
	if (!ret->remote_port) /* the address may be left over from a connection that failed */
		__builtin_memset(ret->remote, 0, sizeof(ret->remote));
	else if (!ret->local_port) /* a reset clears skc_num, but not this */
		ret->local_port = bpf_ntohs(READ(struct inet_sock, sock, inet_sport));
}

/* Fills in all that a row says of a socket, of which sock_read() was called. */
static __always_inline void socket_fill_read(struct iotr_socket *ret, const struct sock_head *head, __u64 sock)
{
	struct sock *from = (struct sock *)sock;

	__builtin_memset(ret, 0, sizeof(*ret));
	ret->family = SOCK_FIELD(head, sock, skc_family);
	ret->type = head->type;
	ret->protocol = head->protocol;
	if (!is_ip(ret->family))
		return;
	if (ret->family == AF_INET) {
		*(__u32 *)ret->local = SOCK_FIELD(head, sock, skc_rcv_saddr);
		*(__u32 *)ret->remote = SOCK_FIELD(head, sock, skc_daddr);
	} else if (bpf_core_field_exists(from->__sk_common.skc_v6_daddr)) {
		bpf_core_read(ret->local, sizeof(ret->local), &from->__sk_common.skc_v6_rcv_saddr);
		bpf_core_read(ret->remote, sizeof(ret->remote), &from->__sk_common.skc_v6_daddr);
	}
	if (has_ports(ret))
		ports_fill(ret, head, sock);
}

/* Fills in all that a row says of a socket. */
static __always_inline void socket_fill(struct iotr_socket *ret, __u64 sock)
{
	struct sock_head head;

	sock_read(&head, sock);
	socket_fill_read(ret, &head, sock);
}

/* Whether the addresses are complete: the kernel may choose a port or learn the peer during a call. */
static __always_inline bool socket_settled(const struct iotr_socket *socket)
{
	return socket->local_port && (socket->remote_port || socket->type != SOCK_STREAM);
}

/* Adds what was not known of the socket when it was saved; it must still exist. */
static __always_inline void socket_complete(struct noted *noted)
{
	struct iotr_socket *socket = &noted->socket, now;

	socket_fill(&now, noted->sock);
	__builtin_memcpy(socket->local, now.local, sizeof(now.local));
	socket->local_port = now.local_port;
	if (socket->remote_port)
		return;
	__builtin_memcpy(socket->remote, now.remote, sizeof(now.remote));
	socket->remote_port = now.remote_port;
}

/* An IP socket address in user memory: struct sockaddr_in or sockaddr_in6. */
struct address {
	__u16 family;
	__u16 port;
	__u32 v4; /* the flow label of IPv6 */
	__u8 v6[16];
};

static __always_inline bool address_read(struct address *ret, __u64 user, __u32 length)
{
	__builtin_memset(ret, 0, sizeof(*ret));
	if (!user || length < SOCKADDR_IN || bpf_probe_read_user(ret, SOCKADDR_IN, (void *)user))
		return false;
	if (ret->family != AF_INET6)
		return true;
	return length >= SOCKADDR_IN6 &&
	       !bpf_probe_read_user(ret->v6, sizeof(ret->v6), (void *)(user + SOCKADDR_IN));
}

/* Clears an address of the socket and returns where its IPv4 address goes. */
static __always_inline __u8 *address_v4(const struct iotr_socket *socket, __u8 *end)
{
	__builtin_memset(end, 0, 16);
	if (socket->family != AF_INET6)
		return end;
	end[10] = end[11] = 0xff; /* IPv4-mapped address of IPv6 */
	return end + 12;
}

/* Sets an address of an IP socket from one in user memory; false: it cannot be read, or does not fit the socket. */
static __always_inline bool end_fill(const struct iotr_socket *socket, __u8 *end, __u16 *port,
				     __u64 user, __u32 length)
{
	struct address address;

	if (!address_read(&address, user, length))
		return false;
	if (address.family == AF_INET6 && socket->family == AF_INET6) {
		__builtin_memcpy(end, address.v6, sizeof(address.v6));
	} else if (address.family != AF_INET && (address.family || socket->family == AF_INET6)) {
		return false; /* AF_UNSPEC is accepted for IPv4 sockets only, as the kernel does */
	} else {
		__builtin_memcpy(address_v4(socket, end), &address.v4, sizeof(address.v4));
	}
	*port = has_ports(socket) ? bpf_ntohs(address.port) : 0;
	return true;
}
