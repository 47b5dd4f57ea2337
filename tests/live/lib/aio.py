# SPDX-License-Identifier: GPL-2.0-or-later
"""libaio by its bare system calls."""
import ctypes
import struct

from lib.uring import call

SETUP, DESTROY, GETEVENTS, SUBMIT = 206, 207, 208, 209
PREAD, PWRITE, FSYNC = 0, 1, 2
BLOCK = struct.Struct('<QIIHhIQQq16x')  # struct iocb
EVENT = struct.Struct('<QQqq')  # struct io_event


def block(operation, fd, address, length, offset):
    return ctypes.create_string_buffer(BLOCK.pack(0, 0, 0, operation, 0, fd, address, length, offset), BLOCK.size)


class Context:
    def __init__(self, most):
        self.most, self.context = most, ctypes.c_ulong()

    def __enter__(self):
        call(SETUP, self.most, ctypes.addressof(self.context))
        return self

    def __exit__(self, *_):
        call(DESTROY, self.context.value)

    def run(self, blocks):
        """Submits all at once; returns their results, in the order of their ends."""
        count = len(blocks)
        pointers = (ctypes.c_uint64 * count)(*map(ctypes.addressof, blocks))
        submitted = call(SUBMIT, self.context.value, count, ctypes.addressof(pointers))
        if submitted != count:
            raise OSError('io_submit took %d of %d' % (submitted, count))
        events = ctypes.create_string_buffer(EVENT.size * count)
        ended = call(GETEVENTS, self.context.value, count, count, ctypes.addressof(events), 0)
        return [EVENT.unpack_from(events, EVENT.size * number)[2] for number in range(ended)]
