# SPDX-License-Identifier: GPL-2.0-or-later
"""io_uring, as bare as it is: a ring, requests, results."""
import ctypes
import mmap
import os
import struct

from lib.registry import Skip

LIBC = ctypes.CDLL(None, use_errno=True)
SETUP, ENTER, REGISTER = 425, 426, 427
ENTRIES, GETEVENTS, REGISTER_FILES = 8, 1, 2
SQ_RING, CQ_RING, SQES = 0, 0x8000000, 0x10000000
OPCODES = {'READV': 1, 'WRITEV': 2, 'SENDMSG': 9, 'RECVMSG': 10, 'READ': 22, 'WRITE': 23,
           'SEND': 26, 'RECV': 27, 'SEND_ZC': 47, 'SENDMSG_ZC': 48}
FIXED_FILE = 1


class Ring:
    def __init__(self):
        params = ctypes.create_string_buffer(120)
        self.fd = LIBC.syscall(SETUP, ENTRIES, params)
        if self.fd < 0:
            raise Skip('no io_uring: %s' % os.strerror(ctypes.get_errno()))
        self.sq_offsets = struct.unpack_from('7I', params.raw, 40)  # head tail mask entries flags dropped array
        self.cq_offsets = struct.unpack_from('6I', params.raw, 80)  # head tail mask entries overflow cqes
        self.sq = mmap.mmap(self.fd, 4096, offset=SQ_RING)
        self.cq = mmap.mmap(self.fd, 4096, offset=CQ_RING)
        self.sqes = mmap.mmap(self.fd, 4096, offset=SQES)
        self.number = 0

    def files(self, *fds):
        """The ring's own table; false when the kernel takes none."""
        array = (ctypes.c_int * len(fds))(*fds)
        return LIBC.syscall(REGISTER, self.fd, REGISTER_FILES, array, len(fds)) == 0

    def push(self, name, fd, address, length, flags=0, offset=0, fixed=False):
        tail, = struct.unpack_from('I', self.sq, self.sq_offsets[1])
        self.number += 1
        self.sqes[64 * (tail % ENTRIES):64 * (tail % ENTRIES) + 64] = struct.pack(
            'BBHiQQIIQ24x', OPCODES[name], FIXED_FILE if fixed else 0, 0, fd, offset, address,
            length, flags, self.number)
        struct.pack_into('I', self.sq, self.sq_offsets[6] + 4 * (tail % ENTRIES), tail % ENTRIES)
        struct.pack_into('I', self.sq, self.sq_offsets[1], tail + 1)

    def enter(self, submit, wait):
        """Submits, and the results there are then, in their order."""
        LIBC.syscall(ENTER, self.fd, submit, wait, GETEVENTS if wait else 0, 0, 0)
        head, = struct.unpack_from('I', self.cq, self.cq_offsets[0])
        tail, = struct.unpack_from('I', self.cq, self.cq_offsets[1])
        mask, = struct.unpack_from('I', self.cq, self.cq_offsets[2])
        results = []
        while head != tail:
            _, result, more = struct.unpack_from('QiI', self.cq, self.cq_offsets[5] + 16 * (head & mask))
            if not more & 8:  # the end of a buffer's use is none of a request
                results.append(result)
            head += 1
        struct.pack_into('I', self.cq, self.cq_offsets[0], head)
        return results

    def do(self, *args, **more):
        self.push(*args, **more)
        results = self.enter(1, 1)
        return results[0]
