// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/calls.h"

#define IO (IOTR_CALL_BYTES | IOTR_CALL_DIRECT | IOTR_CALL_POSITION)

const struct call calls[] = {
#define CALL(name, native, compat, operation_, ...)                                             \
	{ #name, native, compat,                                                                \
	  { .stream = IOTR_VFS, .operation = IOTR_VFS_##operation_, __VA_ARGS__ } },
#include "probes/calls.def"
};

const struct plug plugs[] = {
#define PLUG(native, compat, stream_, operation_, kind_)                                        \
	{ native, compat,                                                                       \
	  { .stream = IOTR_##stream_,                                                           \
	    .operation = IOTR_##stream_##_##operation_,                                         \
	    .kind = IOTR_PLUG_##kind_ } },
#include "probes/plugs.def"
};

const size_t plug_count = sizeof(plugs) / sizeof(plugs[0]);
const size_t call_count = sizeof(calls) / sizeof(calls[0]);

unsigned int call_operations(const struct call *call)
{
	unsigned int operations = 1U << call->row.operation;

	if (call->row.traits & (IOTR_CALL_SUBMITS | IOTR_CALL_REAPS))
		return 1U << IOTR_VFS_READ | 1U << IOTR_VFS_WRITE | 1U << IOTR_VFS_DIO_READ |
		       1U << IOTR_VFS_DIO_WRITE | 1U << IOTR_VFS_FSYNC | 1U << IOTR_VFS_FDATASYNC;
	if (call->row.traits & IOTR_CALL_DIRECT)
		operations |= call->row.operation == IOTR_VFS_READ ? 1U << IOTR_VFS_DIO_READ :
								     1U << IOTR_VFS_DIO_WRITE;
	if (call->row.traits & IOTR_CALL_REMOVEDIR)
		operations |= 1U << IOTR_VFS_RMDIR;
	return operations;
}
