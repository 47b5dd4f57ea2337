# SPDX-License-Identifier: GPL-2.0-or-later
"""The conn stream: sockets that are closed by other means than close(2)."""
import ctypes
import errno
import os
import resource
import socket
import threading
import time

from lib.registry import Skip, check, equal, test
from lib.sockets import LIBC, call, port, record

GROUP = 'conn'


def closed(rows):
    """Of CLOSE rows: descriptor, local address or port, result; they have a latency when they have a result."""
    found = []
    for row in rows:
        if row['operation'] != 'CLOSE':
            continue
        equal(bool(row['latency_ns']), bool(row['return_value']), 'latency and result of %r' % row)
        found.append((int(row['fd']), row['local_port'] or row['local_addr'], row['return_value']))
    return found


def bound(family=socket.AF_INET, name=('127.0.0.1', 0)):
    one = socket.socket(family, socket.SOCK_DGRAM)
    one.bind(name)
    return one


@test
def replaced(world):
    """dup2 and dup3 over a socket close it; over a file, over itself, or of nothing they do not."""
    def work(book):
        path = b'\0iotracer-dup-%d' % os.getpid()
        with open('/dev/null', 'rb') as file:
            for name, one in (('dup2', bound()), ('dup3', bound(socket.AF_UNIX, path))):
                equal(call(name, -1, one.fileno(), 0), -errno.EBADF, name)
                call(name, one.fileno(), one.fileno(), 0)
                where = str(port(one)) if name == 'dup2' else '@' + path[1:].decode()
                book.row(str((one.fileno(), where, str(one.fileno()))))
                equal(call(name, file.fileno(), one.fileno(), 0), one.fileno(), name)
                equal(call(name, file.fileno(), one.fileno(), 0), one.fileno(), name)
                os.close(one.detach())
    told, rows = record(world, 'conn', work)
    equal([str(one) for one in closed(rows)], [row['operation'] for row in told['rows']], 'CLOSE rows')


@test
def range_closed(world):
    """close_range: sockets among other descriptors, far apart; not those that it only marks."""
    def work(book):
        if call('close_range', 900, 901, 0):
            raise Skip('no close_range')
        ones = [bound() for _ in range(3)]
        path = b'\0iotracer-range-%d' % os.getpid()
        ones.append(bound(socket.AF_UNIX, path))
        where = [str(port(one)) for one in ones[:3]] + ['@' + path[1:].decode()]
        base = max(one.fileno() for one in ones) + 10
        places = [base, base + 1, base + 150, base + 200]
        for one, place in zip(ones, places):
            os.dup2(one.fileno(), place)
        os.dup2(os.open('/dev/null', os.O_RDONLY), base + 2)
        check(call('close_range', base, base + 200, 4) in (0, -errno.EINVAL), 'marked')
        equal(call('close_range', base + 200, base, 0), -errno.EINVAL, 'the wrong way round')
        equal(call('close_range', base, base + 200, 64), -errno.EINVAL, 'unknown flags')
        equal(call('close_range', base + 1, 0xffffffff, 0), 0, 'close_range')
        for place, name in list(zip(places, where))[1:]:
            book.row(str((place, name, '')))
        os.close(base)
        book.row(str((base, where[0], '0')))
        for one, name in zip(ones, where):
            book.row(str((one.fileno(), name, '0')))
            one.close()
    told, rows = record(world, 'conn', work)
    equal([str(one) for one in closed(rows)], [row['operation'] for row in told['rows']], 'CLOSE rows')


def at_exit(world, end, *options):
    """CLOSE rows of a process that ends with three sockets open; `end` gets them."""
    def work(book):
        ones = [bound(), bound(), bound(socket.AF_UNIX, b'\0iotracer-exit-%d' % os.getpid())]
        os.dup2(ones[0].fileno(), 100)
        for one, name in zip([*ones, None], [str(port(ones[0])), str(port(ones[1])),
                                             '@iotracer-exit-%d' % os.getpid(), str(port(ones[0]))]):
            book.row(str((one.fileno() if one else 100, name, '')))
        end(ones)
        for one in ones:
            one.detach()
    told, rows = record(world, 'conn', work, *options)
    return [row['operation'] for row in told['rows']], [str(one) for one in closed(rows)], told['pid'], rows


@test
def process_ended(world):
    due, found, pid, rows = at_exit(world, lambda ones: None)
    equal(found, due, 'CLOSE rows')
    equal({row['pid'] for row in rows}, {str(pid)}, 'processes')


@test
def process_ended_tree(world):
    """The same where descendants are followed, of one of them and of the process."""
    def end(_ones):
        pid = os.fork()
        if not pid:
            os._exit(0)
        os.waitpid(pid, 0)
    due, found, _, rows = at_exit(world, end, '--tree')
    equal(sorted(found), sorted(2 * due), 'CLOSE rows')
    equal(len({row['pid'] for row in rows}), 2, 'processes')


@test
def threads_ended(world):
    """Many threads that end at once are one process: each socket is closed once."""
    def end(_ones):
        begin = threading.Barrier(9)
        for _ in range(8):
            threading.Thread(target=lambda: (begin.wait(), time.sleep(60)), daemon=True).start()
        begin.wait()
    for _ in range(3):
        due, found, _, _ = at_exit(world, end)
        equal(found, due, 'CLOSE rows')


@test
def files_shared(world):
    """A process that shares its descriptors with another that goes on closes nothing."""
    def end(_ones):
        stack = ctypes.create_string_buffer(1 << 16)
        pid = LIBC.clone(ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 0), ctypes.addressof(stack) + 65520,
                         0x400 | 0x200 | 17, None)  # CLONE_FILES, CLONE_FS, SIGCHLD
        check(pid > 0, 'clone')
        os.waitpid(pid, 0)
    due, found, _, _ = at_exit(world, end, '--tree')
    equal(found, due, 'CLOSE rows')


@test
def many_closed(world):
    """A thousand at once, and those behind the 4096th descriptor left out, as README says."""
    number = 1000

    def work(book):
        resource.setrlimit(resource.RLIMIT_NOFILE, (8192, 8192))
        for _ in range(number):
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM).detach()
        one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        book.row(str(one.fileno()))
        for place in (4095, 4096):
            os.dup2(one.fileno(), place)
        one.detach()
    _, rows = record(world, 'conn', work)
    found = [number for number, _, _ in closed(rows)]
    equal(len(found), number + 2, 'CLOSE rows')
    equal(max(found), 4095, 'the last descriptor')
