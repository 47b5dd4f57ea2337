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

/* What a row says of a socket, as its struct sock has it. */
struct sock_head {
	__u64 addresses; /* of IPv4: the remote one, then the local one */
	__u32 ports;	 /* the remote one, in network byte order, then the local one */
	__u16 family, type, protocol;
};

/* The members of struct socket that tell whether it is one, as they lie there. */
struct socket_file {
	__u64 file;
	__u64 sk;
};

/*
 * The same without typed loads: what an open file points to is a socket if that points back to the file. To read the mode of its
 * inode would take two more calls of the helper.
 */
static __always_inline __u64 sock_pointing_back(__u64 file)
{
	__u64 socket = (__u64)READ(struct file, file, private_data);
	struct socket_file own;

	if (!FOLLOWS(struct socket, file, sk, sizeof(own.file)))
		return (__u64)READ(struct socket, socket, file) == file ? (__u64)READ(struct socket, socket, sk) : 0;
	READ_AT(&own, socket, struct socket, file);
	return own.file == file ? own.sk : 0;
}

/* The struct sock of an open file, or 0. */
static __always_inline __u64 sock_of_file(__u64 file)
{
	struct file *typed;
	__u64 socket;

	if (!file)
		return 0;
	if (!typed_reads)
		return sock_pointing_back(file);
	typed = CAST(struct file, file);
	if ((typed->f_inode->i_mode & S_IFMT) != S_IFSOCK)
		return 0;
	socket = (__u64)typed->private_data;
	return socket ? (__u64)CAST(struct socket, socket)->sk : 0; /* NULL for an O_PATH descriptor of a socket file */
}

/* The struct sock of a descriptor of the current process, or 0. */
static __always_inline __u64 sock_of_fd(__u32 fd)
{
	return sock_of_file(file_of_fd(current_task(), fd));
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

static __always_inline void sock_head_typed(struct sock_head *head, const struct sock *sock)
{
	head->addresses = sock->__sk_common.skc_addrpair;
	head->ports = sock->__sk_common.skc_portpair;
	head->family = sock->__sk_common.skc_family;
	head->type = sock->sk_type;
	head->protocol = sock->sk_protocol;
}

/* A field of struct sock_common, of which `words` are the first bytes. */
#define SOCK_FIELD(words, sock, field)                                                          \
	({                                                                                      \
		typeof(((struct sock_common *)0)->field) of_;                                   \
                                                                                                \
		if (bpf_core_field_offset(struct sock_common, field) + sizeof(of_) <= sizeof(words)) \
			of_ = *(typeof(of_) *)((void *)(words) + bpf_core_field_offset(struct sock_common, field)); \
		else                                                                            \
			of_ = READ(struct sock_common, sock, field);                            \
		of_;                                                                            \
	})

/* Kernels without typed loads read what lies together at once: two calls of the helper instead of eight. */
static __always_inline void sock_read(struct sock_head *head, __u64 sock)
{
	__u64 words[3];
	__u16 kind[2];

	if (typed_reads) {
		sock_head_typed(head, CAST(struct sock, sock));
		return;
	}
	bpf_probe_read_kernel(words, sizeof(words), (void *)sock);
	head->addresses = SOCK_FIELD(words, sock, skc_addrpair);
	head->ports = SOCK_FIELD(words, sock, skc_portpair);
	head->family = SOCK_FIELD(words, sock, skc_family);
	if (FOLLOWS(struct sock, sk_type, sk_protocol, sizeof(kind[0]))) {
		READ_AT(&kind, sock, struct sock, sk_type);
		head->type = kind[0];
		head->protocol = kind[1];
		return;
	}
	head->type = READ(struct sock, sock, sk_type);
	head->protocol = READ(struct sock, sock, sk_protocol);
}

/* Whether an open file whose type the verifier knows leads to a socket whose type it knows, too (5.11 to 6.1). */
#define SOCKETS_ARE_FOLLOWED                                                                    \
	(TYPES_ARE_FOLLOWED && bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_sock_from_file))

/*
 * The struct sock of a descriptor of the current process, which is read into `head`; 0: it is of none. For programs in which few
 * ways lead to it.
 */
static __always_inline __u64 sock_of_fd_read(struct task_struct *task, __u32 fd, struct sock_head *head)
{
	struct file *file = SOCKETS_ARE_FOLLOWED ? file_followed(task, fd) : NULL;
	struct socket *socket;
	struct sock *sock;
	__u64 found;

	if (file) {
		socket = bpf_sock_from_file(file);
		sock = socket ? socket->sk : NULL;
		if (!sock)
			return 0;
		sock_head_typed(head, sock);
		return number_of((__u64)sock);
	}
	found = sock_of_file(file_of_fd(task, fd));
	if (found)
		sock_read(head, found);
	return found;
}

static __always_inline void ports_fill(struct iotr_socket *ret, const struct sock_head *head, __u64 sock)
{
	ret->local_port = head->ports >> 16;
	ret->remote_port = bpf_ntohs((__u16)head->ports);
	if (!ret->remote_port) /* the address may be left over from a connection that failed */
		__builtin_memset(ret->remote, 0, sizeof(ret->remote));
	else if (!ret->local_port) /* a reset clears skc_num, but not this */
		ret->local_port = bpf_ntohs(READ(struct inet_sock, sock, inet_sport));
}

/* Fills in all that a row says of a socket, of which sock_read() was called; `ret` is aligned to 8 bytes. */
static __always_inline void socket_fill_read(struct iotr_socket *ret, const struct sock_head *head, __u64 sock)
{
	struct sock *from = (struct sock *)sock;

	__builtin_memset(__builtin_assume_aligned(ret, sizeof(__u64)), 0, sizeof(*ret));
	ret->family = head->family;
	ret->type = head->type;
	ret->protocol = head->protocol;
	if (!is_ip(ret->family))
		return;
	if (ret->family == AF_INET) {
		*(__u32 *)ret->local = head->addresses >> 32;
		*(__u32 *)ret->remote = head->addresses;
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
	struct iotr_socket *socket = &noted->socket, now __attribute__((aligned(8)));

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
	if (!user || length < SOCKADDR_IN)
		return false;
	__builtin_memset(ret, 0, sizeof(*ret));
	if (bpf_probe_read_user(ret, SOCKADDR_IN, (void *)user))
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
