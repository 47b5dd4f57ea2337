# SPDX-License-Identifier: GPL-2.0-or-later
"""libaio whose ends the program takes from the ring in its own memory, without a system call, as QEMU does."""
import ctypes
import errno
import mmap
import os
import struct

from lib.aio import EVENT, PREAD, PWRITE, SUBMIT, GETEVENTS, Context, block
from lib.registry import Skip, equal, test, wait_for
from lib.uring import call

PAGE = 4096
DEPTH = 8


class Ring:
    """The kernel's struct aio_ring, which a context is the address of."""

    def __init__(self, context):
        self.context = context
        self.words = (ctypes.c_uint32 * 8).from_address(context.context.value)
        equal(self.words[4], 0xa10a10a1, 'the magic number of the ring')

    def take(self):
        """What has ended, by the addresses of control blocks."""
        ended = {}
        while self.words[2] != self.words[3]:
            event = (ctypes.c_char * EVENT.size).from_address(self.context.context.value + self.words[7] +
                                                              self.words[2] * EVENT.size)
            _, control, result, _ = EVENT.unpack(event)
            ended[control] = result
            self.words[2] = (self.words[2] + 1) % self.words[1]
        return ended


class Disk:
    """A file of direct I/O, and the operations on it in flight."""

    def __init__(self, world):
        path = world.path('direct')
        try:
            self.fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_DIRECT)
        except OSError as error:
            raise Skip('no direct I/O: %s' % error) from error
        world.undo.callback(os.close, self.fd)
        os.ftruncate(self.fd, 64 << 20)
        self.path = path
        self.buffer = mmap.mmap(-1, PAGE)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.buffer))

    def write(self, number, operation=PWRITE):
        return block(operation, self.fd, self.address, PAGE, number * PAGE)


def submit(context, blocks):
    pointers = (ctypes.c_uint64 * len(blocks))(*map(ctypes.addressof, blocks))
    equal(call(SUBMIT, context.context.value, len(blocks), ctypes.addressof(pointers)), len(blocks), 'submitted')


def wait(ring, count):
    ended = {}

    def there():
        ended.update(ring.take())
        return len(ended) >= count
    wait_for('the ends', there)
    return ended


def again(one, number):
    """The control block for the next operation, at the same address."""
    fields = bytearray(one.raw)
    struct.pack_into('<q', fields, 40, number * PAGE)
    ctypes.memmove(ctypes.addressof(one), bytes(fields), len(fields))


def rows_of(session, disk):
    return [row for row in session.rows('vfs') if row['filename'] == disk.path and row['operation'].startswith('DIO_')]


@test
def taken(world):
    """Each of many operations has its row, with its own result, though control blocks are used again and the ring wraps."""
    disk, count = Disk(world), 500
    with world.session('--vfs', '--pid', os.getpid()) as session, Context(DEPTH) as context:
        ring = Ring(context)
        blocks = [disk.write(number) for number in range(DEPTH)]
        for first in range(0, count, DEPTH):
            some = blocks[:min(DEPTH, count - first)]
            for number, one in enumerate(some):
                again(one, first + number)
            submit(context, some)
            ended = wait(ring, len(some))
            equal(set(ended.values()), {PAGE}, 'results')
    rows = rows_of(session, disk)
    equal(sorted(int(row['offset']) // PAGE for row in rows), list(range(count)), 'operations')
    equal({(row['operation'], row['return_value'], row['size']) for row in rows},
          {('DIO_WRITE', str(PAGE), str(PAGE))}, 'rows')


@test
def one_by_one(world):
    """With others in flight; one fails, which is in its row."""
    disk = Disk(world)
    with world.session('--vfs', '--pid', os.getpid()) as session, Context(64) as context:
        ring = Ring(context)
        done, flying = {}, {}
        for number in range(200):
            one = disk.write(number, PREAD if number % 3 else PWRITE)
            flying[ctypes.addressof(one)] = one, number
            submit(context, [one])
            for control, result in ring.take().items():
                done[flying.pop(control)[1]] = result
        for control, result in wait(ring, len(flying)).items():
            done[flying.pop(control)[1]] = result
        one = block(PREAD, disk.fd, disk.address + 1, PAGE, 0)
        submit(context, [one])
        (done[0.5],) = wait(ring, 1).values()
        equal(done.pop(0.5), -errno.EINVAL, 'result of an odd buffer')
    rows = rows_of(session, disk)
    failed = [row for row in rows if row['errno'] != '0']
    equal([(row['errno'], row['address']) for row in failed], [(str(errno.EINVAL), hex(disk.address + 1))], 'what failed')
    rows = [row for row in rows if row not in failed]
    equal(sorted((int(row['offset']) // PAGE, int(row['return_value'])) for row in rows), sorted(done.items()), 'operations')


@test
def both(world):
    """Some ends are taken from the ring, others by io_getevents: none has two rows."""
    disk, count = Disk(world), 120
    with world.session('--vfs', '--pid', os.getpid()) as session, Context(DEPTH) as context:
        ring = Ring(context)
        blocks = [disk.write(number) for number in range(DEPTH)]
        events = ctypes.create_string_buffer(EVENT.size * DEPTH)
        for first in range(0, count, DEPTH):
            for number, one in enumerate(blocks):
                again(one, first + number)
            submit(context, blocks)
            if first // DEPTH % 3 == 0:
                wait(ring, DEPTH)
            elif first // DEPTH % 3 == 1:
                equal(call(GETEVENTS, context.context.value, DEPTH, DEPTH, ctypes.addressof(events), 0), DEPTH, 'events')
            else:
                equal(call(GETEVENTS, context.context.value, 3, 3, ctypes.addressof(events), 0), 3, 'events')
                wait(ring, DEPTH - 3)
    rows = rows_of(session, disk)
    equal(sorted(int(row['offset']) // PAGE for row in rows), list(range(count)), 'operations')
