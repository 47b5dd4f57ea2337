/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The catalogue of streams.def and events.def as enums, for BPF and host. BPF sources get __u64 and similar types from
 * kernel.h, the host gets them from the system.
 */
#pragma once

#ifndef __bpf__
#include <linux/types.h>
#endif

#include "events.def"
#include "streams.def"

enum iotr_stream {
#define IOTR_STREAM_NUMBER(id, ...) IOTR_##id,
	IOTR_STREAMS(IOTR_STREAM_NUMBER)
	IOTR_STREAM_COUNT,
};

/* Limit of operations of one stream: the control page has a slot for each. */
#define IOTR_OPERATIONS_MAX 128

/* Defines enum iotr_vfs_operation { IOTR_VFS_READ, ..., IOTR_VFS_COUNT }, and the same for every stream. */
#define IOTR_EVENT_NUMBER(stream, id, text) IOTR_##stream##_##id,
#define IOTR_STREAM_EVENTS(id, name, ...)                                                       \
	enum iotr_##name##_operation {                                                          \
		IOTR_##id##_EVENTS(IOTR_EVENT_NUMBER) IOTR_##id##_COUNT,                        \
	};                                                                                      \
	_Static_assert((int)IOTR_##id##_COUNT <= IOTR_OPERATIONS_MAX, "more operations than slots");
IOTR_STREAMS(IOTR_STREAM_EVENTS)
