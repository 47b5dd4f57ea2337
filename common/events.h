/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The catalogue of events.def as enums, for BPF and host alike. BPF sources have __u64 and its
 * family from their own kernel.h; the host takes them from the system.
 */
#pragma once

#ifndef __bpf__
#include <linux/types.h>
#endif

enum iotr_stream {
#define STREAM(id, flag, folder, doc) IOTR_##id,
#include "events.def"
	IOTR_STREAM_COUNT,
};

enum iotr_vfs_operation {
#define EVENT(stream, id, name) IOTR_OPERATION_##stream(id)
#define IOTR_OPERATION_VFS(id) IOTR_VFS_##id,
#define IOTR_OPERATION_BLOCK(id)
#include "events.def"
#undef IOTR_OPERATION_VFS
#undef IOTR_OPERATION_BLOCK
	IOTR_VFS_COUNT,
};

enum iotr_block_operation {
#define EVENT(stream, id, name) IOTR_OPERATION_##stream(id)
#define IOTR_OPERATION_VFS(id)
#define IOTR_OPERATION_BLOCK(id) IOTR_BLOCK_##id,
#include "events.def"
#undef IOTR_OPERATION_VFS
#undef IOTR_OPERATION_BLOCK
	IOTR_BLOCK_COUNT,
};

/* Most operations a stream may have: the control page has a slot for each. */
#define IOTR_OPERATIONS_MAX 32
_Static_assert((int)IOTR_VFS_COUNT <= IOTR_OPERATIONS_MAX, "more operations than slots");
_Static_assert((int)IOTR_BLOCK_COUNT <= IOTR_OPERATIONS_MAX, "more operations than slots");
