# SPDX-License-Identifier: GPL-2.0-or-later
"""The conn stream: sockets that are closed by other means than close(2)."""
import ctypes
import errno
import os
import resource
import signal
import socket
import threading
import time
from collections import Counter

from lib.registry import Skip, check, equal, test, wait_for
from lib.sockets import LIBC, call, port, record

GROUP = 'conn'
CLONE_FILES, CLONE_FS = 0x400, 0x200


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


def sharing(work):
    """Begins a process that shares its maker's descriptors, with memory of its own; its pid."""
    def begin():
        try:
            work()
        finally:
            os._exit(0)
    stack = ctypes.create_string_buffer(1 << 18)
    pid = LIBC.clone(ctypes.CFUNCTYPE(ctypes.c_int)(begin), ctypes.addressof(stack) + (1 << 18) - 16,
                     CLONE_FILES | CLONE_FS | signal.SIGCHLD, None)
    check(pid > 0, 'clone')
    return pid


@test
def files_shared(world):
    """A process that shares its descriptors with another that goes on closes nothing."""
    due, found, _, _ = at_exit(world, lambda _ones: os.waitpid(sharing(lambda: None), 0), '--tree')
    equal(found, due, 'CLOSE rows')


def outlived(world, end):
    """
    CLOSE rows where a process shares its descriptors with one that goes on when it has ended, and closes them by its own end.
    `end` is how the first one ends.
    """
    def shares(_ones):
        closed_last, kept = os.pipe()
        first = os.fork()
        if not first:
            mine = '/proc/%d' % os.getpid()
            sharing(lambda: wait_for('the other to be gone', lambda: not os.path.exists(mine)))
            end()
        os.close(kept)
        os.waitpid(first, 0)
        equal(os.read(closed_last, 1), b'', 'what is read when the last of them has closed it')
        os.close(closed_last)
    due, found, _, rows = at_exit(world, shares, '--tree')
    equal(Counter(found), Counter(2 * due), 'CLOSE rows')
    equal(len({row['pid'] for row in rows if row['operation'] == 'CLOSE'}), 2, 'processes')


@test
def files_outlive(world):
    """Of two processes that share their descriptors, the last one closes them."""
    outlived(world, lambda: os._exit(0))


@test
def files_outlive_threads(world):
    """The same where the first thread of the process has ended before, and is a zombie until the others have."""
    def end():
        pid = os.getpid()

        def last():
            wait_for('the first thread to end', lambda: ended(pid))
            os._exit(0)
        threading.Thread(target=last).start()
        LIBC.syscall(60, 0)  # exit, of this thread alone
    outlived(world, end)


def ended(tid):
    """Whether the first thread of this process is a zombie."""
    with open('/proc/self/task/%d/stat' % tid, encoding='ascii') as file:
        return file.read().rpartition(')')[2].split()[0] == 'Z'


def with_own_table(then):
    """Begins a thread that has a table of descriptors of its own, and then does something."""
    begun = threading.Event()

    def thread():
        equal(LIBC.unshare(CLONE_FILES), 0, 'unshare')
        begun.set()
        then()
    one = threading.Thread(target=thread, daemon=True)
    one.start()
    check(begun.wait(60), 'a thread with descriptors of its own')
    return one


@test
def table_of_a_thread(world):
    """A thread that ends closes the table that it has for itself, while the process goes on."""
    due, found, pid, rows = at_exit(world, lambda _ones: with_own_table(lambda: None).join(60))
    equal(Counter(found), Counter(2 * due), 'CLOSE rows')
    equal(len({row['tid'] for row in rows if row['operation'] == 'CLOSE'}), 2, 'threads')
    equal({row['pid'] for row in rows}, {str(pid)}, 'processes')


@test
def tables_at_exit(world):
    """The end of a process closes the tables of all of its threads, each once."""
    number = 4

    def end(_ones):
        for _ in range(number):
            with_own_table(lambda: time.sleep(60))
        for _ in range(number):  # these share that of the process
            threading.Thread(target=lambda: time.sleep(60), daemon=True).start()
    due, found, _, _ = at_exit(world, end)
    equal(Counter(found), Counter((number + 1) * due), 'CLOSE rows')


@test
def closed_meanwhile(world):
    """A process ends while its threads close sockets: each is closed once, by them or by the end."""
    crowd, number = 4, 40

    def work(book):
        fds = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM).detach() for _ in range(crowd * number)]
        begin = threading.Barrier(crowd + 1)

        def close(some):
            begin.wait()
            for fd in some:
                call('close', fd)
        for first in range(crowd):
            threading.Thread(target=close, args=(fds[first::crowd],), daemon=True).start()
        for fd in fds:
            book.row(str(fd))
        begin.wait()
    for _ in range(2):
        told, rows = record(world, 'conn', work)
        found = Counter(number for number, _, _ in closed(rows))
        equal(found, Counter(int(row['operation']) for row in told['rows']), 'CLOSE rows by descriptor')


@test
def executed(world):
    """What execve leaves open is closed by the end of that program, once, whichever thread has begun it."""
    def end(_ones):
        for by_thread in (False, True):
            pid = os.fork()
            if not pid:
                begin = threading.Barrier(4)

                def execute():
                    if by_thread:
                        begin.wait()
                    os.execv('/bin/true', ['true'])
                for _ in range(3 * by_thread):
                    threading.Thread(target=execute, daemon=True).start()
                if by_thread:
                    begin.wait()
                    time.sleep(60)
                execute()
            os.waitpid(pid, 0)
    due, found, _, _ = at_exit(world, end, '--tree')
    kept = [one for one in due if one.startswith('(100,')]
    equal(len(kept), 1, 'sockets that stay open')
    equal(Counter(found), Counter(due + 2 * kept), 'CLOSE rows')


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
