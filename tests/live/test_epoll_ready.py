# SPDX-License-Identifier: GPL-2.0-or-later
"""Which descriptors were ready when a wait ended, whatever the program has stored with them."""
import ctypes
import os
import select
import struct
import time

from lib.registry import check, equal, test

LIBC = ctypes.CDLL(None, use_errno=True)
ADD, DELETE, MODIFY = 1, 2, 3
IN, EDGE = 1, 1 << 31
POINTER = 0x7f0012340000


class Epoll:
    """An instance with pipes, which store what they are told to."""

    def __init__(self, world):
        self.world = world
        self.fd = LIBC.epoll_create1(0)
        world.undo.callback(os.close, self.fd)

    def ctl(self, what, fd, data, events=IN):
        event = ctypes.create_string_buffer(struct.pack('<IQ', events, data), 12)
        equal(LIBC.epoll_ctl(self.fd, what, fd, event), 0, 'epoll_ctl')

    def pipe(self, data=None, ready=True, events=IN):
        """The reading end of a pipe, registered with `data`, or its own number."""
        reading, writing = pipe(self.world, ready)
        self.ctl(ADD, reading, reading if data is None else data, events)
        return reading, writing

    def wait(self, room=100):
        events = ctypes.create_string_buffer(12 * room)
        return LIBC.epoll_wait(self.fd, events, room, 0)


def pipe(world, ready=True):
    ends = os.pipe()
    for end in ends:
        world.undo.callback(close, end)
    if ready:
        os.write(ends[1], b'x')
    return ends


def close(fd):
    try:
        os.close(fd)
    except OSError:
        pass


def ready(world, work, *operations):
    """Of the rows of these operations, what was ready: a set of numbers each, in order."""
    with world.session('--epoll', '--pid', os.getpid()) as session:
        begin = time.monotonic_ns()
        work()
        end = time.monotonic_ns()
    rows = sorted(session.rows('epoll'), key=lambda row: int(row['mono_ns']))
    rows = [row for row in rows if row['operation'] in operations and begin <= int(row['mono_ns']) <= end]
    for row in rows:
        check(row['ready_fds'] == '' or (row['ready_fds'][0], row['ready_fds'][-1]) == ('|', '|'), 'marks', row)
    return [[int(fd) for fd in row['ready_fds'].split('|') if fd] for row in rows]


def waits(world, work):
    return [sorted(fds) for fds in ready(world, work, 'EPOLL_WAIT')]


@test
def numbers(world):
    """Descriptors are stored as such, as most programs do, also before the session."""
    epoll = Epoll(world)
    before, _ = epoll.pipe()
    wanted = []

    def work():
        wanted.append([before])
        epoll.wait()
        now, _ = epoll.pipe()
        epoll.pipe(ready=False)
        wanted.append(sorted([before, now]))
        epoll.wait()
        os.read(before, 1)
        wanted.append([now])
        epoll.wait()
        os.read(now, 1)
        wanted.append([])
        epoll.wait()
    equal(waits(world, work), wanted, 'ready descriptors')


@test
def pointers(world):
    """Addresses are stored, of what is edge-triggered: the kernel keeps no list of what was ready."""
    epoll = Epoll(world)
    before = [epoll.pipe(POINTER + 64 * number, False, IN | EDGE) for number in range(20)]
    wanted = []

    def work():
        for number in (7, 19, 0):
            os.write(before[number][1], b'x')
            wanted.append([before[number][0]])
            epoll.wait()
        now = epoll.pipe(POINTER + 4096, True, IN | EDGE)
        wanted.append([now[0]])
        epoll.wait()
        epoll.ctl(MODIFY, now[0], POINTER + 8192)
        wanted.append([now[0]])
        epoll.wait()
        os.close(now[0])  # it is taken out, and another has the same address then
        again = epoll.pipe(POINTER + 8192, True)
        wanted.append([again[0]])
        epoll.wait()
        epoll.ctl(DELETE, again[0], 0)
        other = epoll.pipe(POINTER + 8192, True)
        wanted.append([other[0]])
        epoll.wait()
    equal(waits(world, work), wanted, 'ready descriptors')


@test
def doubtful(world):
    """What is stored with several does not tell which of them is ready; a number that is stored for another is not believed."""
    epoll = Epoll(world)
    first, _ = epoll.pipe(POINTER)
    epoll.pipe(POINTER, ready=False)
    other, _ = pipe(world)
    third, _ = epoll.pipe(other)
    wanted = []

    def work():
        wanted.append([third])
        epoll.wait()
        os.read(third, 1)
        wanted.append([])
        epoll.wait()
        os.read(first, 1)
        epoll.pipe(POINTER + 64, ready=False)
        late, _ = epoll.pipe(POINTER + 64)
        wanted.append([])
        epoll.wait()
        os.read(late, 1)
    equal(waits(world, work), wanted, 'ready descriptors')


@test
def many(world):
    """The first eight of many."""
    epoll = Epoll(world)
    fds = {epoll.pipe(POINTER + 64 * number)[0] for number in range(50)}
    (found,) = ready(world, epoll.wait, 'EPOLL_WAIT')
    equal((len(found), len(set(found)), set(found) <= fds), (8, 8, True), 'ready descriptors')


@test
def inherited(world):
    """A child waits with what its parent has registered."""
    epoll = Epoll(world)
    fd, _ = epoll.pipe(POINTER)

    def work():
        child = os.fork()
        if not child:
            os.dup2(fd, 900)
            os.close(fd)
            epoll.wait()
            os._exit(0)
        os.waitpid(child, 0)
    with world.session('--epoll', '--pid', os.getpid(), '--tree') as session:
        work()
    rows = [row for row in session.rows('epoll') if row['operation'] == 'EPOLL_WAIT']
    equal([row['ready_fds'] for row in rows], ['|%d|' % fd], 'ready descriptors')


@test
def polled(world):
    """poll and select say themselves what is ready."""
    ends = [pipe(world, number % 40 == 3) for number in range(100)]
    full = [reading for number, (reading, _) in enumerate(ends) if number % 40 == 3]
    poll = select.poll()
    for reading, _ in ends:
        poll.register(reading, select.POLLIN)

    def work():
        poll.poll(0)
        select.select([reading for reading, _ in ends], [ends[0][1]], [], 0)
        select.select([], [], [], 0)
        os.read(full[0], 1)
        select.select(full[:1], [], [], 0)
    found = ready(world, work, 'POLL', 'SELECT')
    equal(found, [full, sorted([*full, ends[0][1]]), [], []], 'ready descriptors')
