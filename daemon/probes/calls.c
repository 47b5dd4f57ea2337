// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/calls.h"

#define IO_AT (IOTR_CALL_BYTES | IOTR_CALL_DIRECT)
#define IO    (IO_AT | IOTR_CALL_POSITION)

const struct call calls[] = {
#define CALL(name, native, compat, operation_, ...)                                             \
	{ #name, native, compat,                                                                \
	  { .stream = IOTR_VFS, .operation = IOTR_VFS_##operation_, __VA_ARGS__ } },
#include "calls.def"
};

const struct plug plugs[] = {
#define PLUG(native, compat, stream_, operation_, kind_)                                        \
	{ native, compat,                                                                       \
	  { .stream = IOTR_##stream_,                                                           \
	    .operation = IOTR_##stream_##_##operation_,                                         \
	    .kind = IOTR_PLUG_##kind_ } },
#include "plugs.def"
};

const size_t plug_count = sizeof(plugs) / sizeof(plugs[0]);
const size_t call_count = sizeof(calls) / sizeof(calls[0]);

_Static_assert(IOTR_VFS_COUNT <= 64, "operations of vfs are bits of a mask");

#define BIT(operation) (1ULL << IOTR_VFS_##operation)

uint64_t call_operations(const struct call *call)
{
	uint64_t operations = 1ULL << call->row.operation;

	if (call->row.traits & (IOTR_CALL_SUBMITS | IOTR_CALL_REAPS))
		return BIT(READ) | BIT(WRITE) | BIT(DIO_READ) | BIT(DIO_WRITE) | BIT(FSYNC) | BIT(FDATASYNC);
	if (call->row.traits & IOTR_CALL_DIRECT)
		operations |= call->row.operation == IOTR_VFS_READ ? BIT(DIO_READ) : BIT(DIO_WRITE);
	if (call->row.traits & IOTR_CALL_REMOVEDIR)
		operations |= BIT(RMDIR);
	return operations;
}
