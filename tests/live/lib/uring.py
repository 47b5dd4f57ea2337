# SPDX-License-Identifier: GPL-2.0-or-later
"""io_uring by its bare system calls: entries as the test wants them, completions as they come."""
import ctypes
import errno
import mmap
import os
import struct
import time
from types import SimpleNamespace

from lib.registry import Skip

SETUP, ENTER, REGISTER = 425, 426, 427  # the same on every architecture
GETEVENTS, SQ_WAKEUP = 1, 2
NEED_WAKEUP = 1
IOPOLL, SQPOLL, CQSIZE, SQE128, CQE32, NO_SQARRAY = 1, 2, 8, 1 << 10, 1 << 11, 1 << 16
REGISTER_BUFFERS, REGISTER_FILES, REGISTER_PROBE = 0, 2, 8
FIXED_FILE, DRAIN, LINK, HARDLINK, ASYNC, BUFFER_SELECT, SKIP = (1 << bit for bit in range(7))
MORE, NOTIFICATION = 2, 8
ENTRY = struct.Struct('<BBHiQQIIQHHIQQ')
COMPLETION = struct.Struct('<QiI')
AT_FDCWD = -100

OPCODES = '''NOP READV WRITEV FSYNC READ_FIXED WRITE_FIXED POLL_ADD POLL_REMOVE SYNC_FILE_RANGE SENDMSG
RECVMSG TIMEOUT TIMEOUT_REMOVE ACCEPT ASYNC_CANCEL LINK_TIMEOUT CONNECT FALLOCATE OPENAT CLOSE
FILES_UPDATE STATX READ WRITE FADVISE MADVISE SEND RECV OPENAT2 EPOLL_CTL SPLICE PROVIDE_BUFFERS
REMOVE_BUFFERS TEE SHUTDOWN RENAMEAT UNLINKAT MKDIRAT SYMLINKAT LINKAT MSG_RING FSETXATTR SETXATTR
FGETXATTR GETXATTR SOCKET URING_CMD SEND_ZC SENDMSG_ZC READ_MULTISHOT WAITID FUTEX_WAIT FUTEX_WAKE
FUTEX_WAITV FIXED_FD_INSTALL FTRUNCATE BIND LISTEN RECV_ZC EPOLL_WAIT READV_FIXED WRITEV_FIXED
PIPE NOP128 URING_CMD128'''.split()
NUMBER = {name: number for number, name in enumerate(OPCODES)}

libc = ctypes.CDLL(None, use_errno=True)


def call(number, *args):
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(arg) for arg in args])
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def address(buffer):
    return ctypes.addressof(buffer)


def text(path):
    return ctypes.create_string_buffer(os.fsencode(path))


class Ring:
    def __init__(self, entries=64, flags=0, completions=0):
        params = ctypes.create_string_buffer(120)
        struct.pack_into('<5I', params, 0, entries, completions, flags, 0, 1000)
        self.flags = flags
        self.fd = call(SETUP, entries, address(params))
        self.entries, self.room = struct.unpack_from('<2I', params, 0)
        self.sq = struct.unpack_from('<7I', params, 40)
        self.cq = struct.unpack_from('<6I', params, 80)
        self.stride = 128 if flags & SQE128 else 64
        self.width = 32 if flags & CQE32 else 16
        self.sq_map = mmap.mmap(self.fd, self.sq[6] + 4 * self.entries, offset=0)
        self.cq_map = mmap.mmap(self.fd, self.cq[5] + self.width * self.room, offset=0x8000000)
        self.sqes = mmap.mmap(self.fd, self.stride * self.entries, offset=0x10000000)
        self.kept = []  # what the kernel may still use
        self.waiting = 0
        self.last = 0

    def close(self):
        if self.fd >= 0:
            for one in (self.sq_map, self.cq_map, self.sqes):
                one.close()
            os.close(self.fd)
            self.fd = -1

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def word(self, memory, offset):
        return struct.unpack_from('<I', memory, offset)[0]

    def keep(self, one):
        self.kept.append(one)
        return address(one)

    def push(self, opcode, fd=-1, addr=0, length=0, off=0, flags=0, ioprio=0, op_flags=0,
             user_data=None, buf=0, file_index=0, addr3=0):
        """Returns the entry, which complete() fills in."""
        number = NUMBER.get(opcode, opcode)
        self.last += 1
        user_data = self.last if user_data is None else user_data
        tail = self.word(self.sq_map, self.sq[1])
        index = tail & (self.entries - 1)
        # Entries lie in reverse order where the ring has an array of their indexes, so that a test sees it used.
        place = index if self.flags & NO_SQARRAY else self.entries - 1 - index
        ENTRY.pack_into(self.sqes, place * self.stride, number, flags, ioprio, fd, off % (1 << 64),
                        addr, length % (1 << 32), op_flags, user_data, buf, 0, file_index, addr3, 0)
        if not self.flags & NO_SQARRAY:
            struct.pack_into('<I', self.sq_map, self.sq[6] + 4 * index, place)
        struct.pack_into('<I', self.sq_map, self.sq[1], tail + 1)
        self.waiting += 1
        return SimpleNamespace(opcode=opcode, fd=fd, length=length, off=off, flags=flags,
                               user_data=user_data)

    def enter(self, wait=0):
        flags = GETEVENTS if wait else 0
        if self.flags & SQPOLL and self.word(self.sq_map, self.sq[4]) & NEED_WAKEUP:
            flags |= SQ_WAKEUP
        done = call(ENTER, self.fd, self.waiting, wait, flags, 0, 0)
        self.waiting -= done
        return done

    def reap(self):
        """The completions that are there: (user_data, result, flags)."""
        found = []
        head = self.word(self.cq_map, self.cq[0])
        while head != self.word(self.cq_map, self.cq[1]):
            at = self.cq[5] + (head & (self.room - 1)) * self.width
            found.append(COMPLETION.unpack_from(self.cq_map, at))
            head += 1
            struct.pack_into('<I', self.cq_map, self.cq[0], head)
        return found

    def finish(self, count, seconds=60):
        """Submits all that waits, and gets that many completions."""
        found, end = [], time.monotonic() + seconds
        while len(found) < count:
            if time.monotonic() > end:
                raise TimeoutError('%d of %d completions' % (len(found), count))
            if self.waiting or not self.flags & SQPOLL:
                self.enter(1 if not self.flags & SQPOLL else 0)
            found += self.reap()
        return found

    def one(self, opcode, **fields):
        """A request and its result, with the time that it took at most."""
        begin = time.monotonic_ns()
        entry = self.push(opcode, **fields)
        (user_data, entry.result, _), = self.finish(1)
        entry.begin, entry.end = begin, time.monotonic_ns()
        assert user_data == entry.user_data
        return entry

    def do(self, opcode, fd, addr=0, length=0, op_flags=0, **fields):
        """The result of a request. What is told later of the use of its buffer is left in the ring."""
        self.push(opcode, fd, addr, length, op_flags=op_flags, **fields)
        return self.results(1)[0]

    def results(self, count):
        return [result for _, result, flags in self.finish(count) if not flags & NOTIFICATION]

    def register(self, what, memory, count):
        return call(REGISTER, self.fd, what, address(memory), count)

    def register_files(self, *fds):
        return self.register(REGISTER_FILES, (ctypes.c_int * len(fds))(*fds), len(fds))

    def register_buffer(self, buffer):
        vector = (ctypes.c_uint64 * 2)(address(buffer), len(buffer))
        return self.register(REGISTER_BUFFERS, vector, 1)

    def supported(self):
        """Names of the operations that the kernel has."""
        memory = ctypes.create_string_buffer(16 + 8 * 256)
        try:
            self.register(REGISTER_PROBE, memory, 256)
        except OSError:
            return set()
        return {name for number, name in enumerate(OPCODES)
                if struct.unpack_from('<BBHI', memory, 16 + 8 * number)[2] & 1}

    def vectors(self, *parts):
        """The address of an iovec array."""
        words = (ctypes.c_uint64 * (2 * len(parts)))()
        for at, part in enumerate(parts):
            words[2 * at], words[2 * at + 1] = self.keep(part), len(part)
        return self.keep(words)


def need(entries=8):
    """A ring; skips the test where the kernel has none."""
    try:
        return Ring(entries)
    except OSError as error:
        if missing(error):
            raise Skip('no io_uring: %s' % error) from None
        raise


def missing(error):
    """Whether the kernel has no io_uring, or forbids it."""
    return error.errno in (errno.ENOSYS, errno.EPERM)
