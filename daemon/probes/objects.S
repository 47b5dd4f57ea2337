/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The BPF objects, as bytes in the daemon: iotr_bpf_NAME_begin to iotr_bpf_NAME_end. */
#include "streams.def"

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

#define STREAM(id, name, folder, object, ...) OBJECT(object)
#define FURTHER(id, object, stream) OBJECT(object)
OBJECT(shared)
OBJECT(process)
OBJECT(tasks)
OBJECT(hierarchy)
OBJECT(layers)
OBJECT(timing)
IOTR_STREAMS(STREAM)
IOTR_FURTHER_OBJECTS(FURTHER)

.section .note.GNU-stack,"",@progbits
