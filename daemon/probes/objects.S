/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The BPF objects, as bytes in the daemon: iotr_bpf_NAME_begin to iotr_bpf_NAME_end. */
#define TEXT(text) #text
#define FILE(name) TEXT(name.bpf.o)
#define OBJECT(name)				\
	.section .rodata;			\
	.balign 16;				\
	.global iotr_bpf_##name##_begin;	\
	iotr_bpf_##name##_begin:		\
	.incbin FILE(name);			\
	.global iotr_bpf_##name##_end;		\
	iotr_bpf_##name##_end:;

OBJECT(shared)
OBJECT(syscalls)
OBJECT(block)
OBJECT(process)
OBJECT(async)
OBJECT(inodes)
OBJECT(epoll)
OBJECT(sockopt)
OBJECT(drop)
OBJECT(iouring)
OBJECT(net)
OBJECT(net_uring)
OBJECT(conn)
OBJECT(conn_uring)
OBJECT(cache)
OBJECT(pagefault)
OBJECT(tasks)

.section .note.GNU-stack,"",@progbits
