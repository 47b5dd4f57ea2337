/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of rows of the CONN stream, for those of system calls and of io_uring. */
#pragma once

#include "sockets.bpf.h"

#define AF_PACKET      17
#define SUN_PATH       2 /* offset of sun_path in struct sockaddr_un */
#define SOCK_TYPE_MASK 0xf /* bits of the type in the second argument of socket(2); the rest are flags */

/* Bytes of the name in a Unix address of `address` bytes; 0: it has none. */
static __always_inline __u32 name_bytes(__s32 address)
{
	__u32 length = address - SUN_PATH;

	if (address <= SUN_PATH)
		return 0;
	return length > IOTR_UNIX_NAME ? IOTR_UNIX_NAME : length;
}

/* Reads the name that a Unix socket is bound to; returns its bytes, 0 where Unix sockets are a module. */
static __always_inline __u32 unix_name(char *name, __u64 sock)
{
	__u64 address = 0;
	__u32 length;

	if (sock && bpf_core_type_exists(struct unix_sock))
		address = (__u64)READ(struct unix_sock, sock, addr);
	length = address ? name_bytes(READ(struct unix_address, address, len)) : 0;
	if (!length || length > IOTR_UNIX_NAME)
		return 0;
	address += bpf_core_field_offset(struct unix_address, name) + SUN_PATH;
	return bpf_probe_read_kernel(name, length, (void *)address) ? 0 : length;
}

static __always_inline __u32 unix_name_user(char *name, __u64 user, __s32 address)
{
	__u32 length = name_bytes(address);
	__u16 family;

	if (!length || length > IOTR_UNIX_NAME ||
	    bpf_probe_read_user(&family, sizeof(family), (void *)user) || family != AF_UNIX)
		return 0;
	return bpf_probe_read_user(name, length, (void *)(user + SUN_PATH)) ? 0 : length;
}

static __always_inline __u64 unix_peer(__u64 sock)
{
	return bpf_core_type_exists(struct unix_sock) ? (__u64)READ(struct unix_sock, sock, peer) : 0;
}

/* Names of a Unix socket that is being closed, saved before it is gone. */
struct unix_names {
	__u8 local_length;
	__u8 remote_length;
	char local[IOTR_UNIX_NAME];
	char remote[IOTR_UNIX_NAME];
};

static __always_inline void unix_names_note(struct unix_names *names, __u64 sock)
{
	names->local_length = unix_name(names->local, sock);
	names->remote_length = unix_name(names->remote, unix_peer(sock));
}

static __always_inline void unix_names_noted(struct iotr_conn_record *row, const struct unix_names *names)
{
	row->local_length = names->local_length;
	row->remote_length = names->remote_length;
	__builtin_memcpy(row->local_name, names->local, sizeof(row->local_name));
	__builtin_memcpy(row->remote_name, names->remote, sizeof(row->remote_name));
}

/* Fills in both names of a Unix socket that still exists. */
static __always_inline void unix_names_fill(struct iotr_conn_record *row, __u64 sock)
{
	if (row->socket.family != AF_UNIX)
		return;
	row->local_length = unix_name(row->local_name, sock);
	row->remote_length = unix_name(row->remote_name, unix_peer(sock));
}

static __always_inline void socket_kind(struct iotr_conn_record *row)
{
	row->has_socket = true;
	row->domain = row->socket.family;
	row->type = row->socket.type;
	row->protocol = row->socket.family == AF_PACKET ? -1 : row->socket.protocol;
}
