# SPDX-License-Identifier: GPL-2.0-or-later
"""A process that does known things with sockets and writes down the rows that must come of them."""
import contextlib
import ctypes
import json
import mmap
import os
import platform
import socket
import stat
import struct
import sys
import threading
import time
import traceback

from lib.calls import in_call
from lib.registry import Skip, check, equal, wait_for

LIBC = ctypes.CDLL(None, use_errno=True)
BAD = 0x10  # an address where nothing is mapped
FAMILIES = {'4': (socket.AF_INET, '127.0.0.1'), '6': (socket.AF_INET6, '::1'),
            'mapped': (socket.AF_INET6, '::ffff:127.0.0.1')}
SHOWN = {'4': ('4', '127.0.0.1'), '6': ('6', '::1'), 'mapped': ('4', '127.0.0.1')}
FREE = ('timestamp', 'latency_ns', 'cgroup_id', 'cpu_id', 'mono_ns')  # columns whose value is not known before
SYS = {'sendmmsg': 307, 'recvmmsg': 299, 'splice': 275, 'preadv2': 327, 'pwritev2': 328,
       'socketpair': 53, 'close': 3, 'connect': 42, 'bind': 49, 'accept': 43, 'accept4': 288,
       'sendto': 44, 'recvfrom': 45, 'sendmsg': 46, 'recvmsg': 47, 'writev': 20, 'readv': 19,
       'write': 1, 'read': 0, 'dup2': 33, 'dup3': 292, 'close_range': 436, 'listen': 50, 'shutdown': 48, 'sendfile': 40}


def call(name, *args):
    """A system call as it is: its result, or the negative error number."""
    args = [ctypes.c_long(arg) if isinstance(arg, int) else arg for arg in args]
    result = LIBC.syscall(ctypes.c_long(SYS[name]), *args)
    return -ctypes.get_errno() if result < 0 else result


# mov of the arguments to where int 0x80 wants them: number, then ebx ecx edx esi edi.
NARROW = bytes.fromhex('53' '89f8' '89f3' '87d1' '4489c6' '4489cf' 'cd80' '5b' 'c3')
NARROW_SYS = {'read': 3, 'write': 4, 'readv': 145, 'sendmsg': 370, 'recvmsg': 372, 'sendmmsg': 345}


class Low:
    """Memory below 4 GiB, and system calls by 32-bit numbers."""

    def __init__(self):
        everything = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
        self.map = mmap.mmap(-1, 8192, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40, everything)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.map))
        self.map[8000:8000 + len(NARROW)] = NARROW
        self.enter = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_long] * 6)(self.address + 8000)
        if platform.machine() != 'x86_64' or self.enter(20, 0, 0, 0, 0, 0) != os.getpid():
            raise Skip('no 32-bit system calls')

    def put(self, at, data):
        """Stores the data in this memory; returns its address."""
        self.map[at:at + len(data)] = data
        return self.address + at

    def call(self, name, *args):
        return self.enter(NARROW_SYS[name], *args, *[0] * (5 - len(args)))


class Iovec(ctypes.Structure):
    _fields_ = [('base', ctypes.c_void_p), ('size', ctypes.c_size_t)]


class Msghdr(ctypes.Structure):
    _fields_ = [('name', ctypes.c_void_p), ('namelen', ctypes.c_uint), ('iov', ctypes.c_void_p),
                ('iovlen', ctypes.c_size_t), ('control', ctypes.c_void_p),
                ('controllen', ctypes.c_size_t), ('flags', ctypes.c_int)]


class Mmsghdr(ctypes.Structure):
    _fields_ = [('head', Msghdr), ('done', ctypes.c_uint)]


def vector(*sizes):
    """An array of iovecs over memory of its own, which it keeps alive."""
    array = (Iovec * len(sizes))()
    array.kept = [ctypes.create_string_buffer(max(size, 1)) for size in sizes]
    for entry, buffer, size in zip(array, array.kept, sizes):
        entry.base, entry.size = ctypes.addressof(buffer), size
    return array


def message(iovecs, name=None, room=0):
    head = Msghdr(iov=ctypes.addressof(iovecs), iovlen=len(iovecs))
    head.kept = (iovecs, name)
    if name is not None:
        head.name, head.namelen = ctypes.addressof(name), room
    return head


def messages(*heads):
    array = (Mmsghdr * len(heads))()
    array.kept = heads
    for entry, head in zip(array, heads):
        entry.head = head
    return array


class Book:
    """What the child writes down: the rows that are due, in their order."""

    def __init__(self):
        self.rows, self.acted = [], None

    def row(self, operation, **columns):
        self.rows.append(dict(columns, operation=operation))

    @contextlib.contextmanager
    def meanwhile(self, name, action):
        """Has another thread do the action once this one waits in the system call of that name."""
        task = 'self/task/%d' % threading.get_native_id()
        in_call(task, SYS[name])  # skips the test where /proc does not show it

        def act():
            try:
                wait_for('the call', lambda: in_call(task, SYS[name]))
            finally:
                self.acted = time.monotonic_ns()
                action()
        thread = threading.Thread(target=act)
        thread.start()
        yield
        thread.join()


def child(work, begin, report):
    book, failure, skip = Book(), None, None
    if not os.read(begin, 1):
        return  # the test is over before there was a session
    started = time.monotonic_ns()
    try:
        work(book)
    except Skip as reason:
        skip = str(reason)
    except BaseException:  # the parent process reports it
        failure = traceback.format_exc()
    told = {'rows': book.rows, 'failure': failure, 'skip': skip, 'acted': book.acted,
            'window': [started, time.monotonic_ns()]}
    with os.fdopen(report, 'w') as file:
        json.dump(told, file)


def close_sockets():
    """Closes those that this process has from the one that made it, as its end would be a row of each."""
    for name in os.listdir('/proc/self/fd'):
        with contextlib.suppress(OSError):  # that of the folder is closed
            if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                os.close(int(name))


def spawn(work):
    begin, release = os.pipe()
    result, report = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if not pid:
        try:
            os.close(release)
            close_sockets()
            os.write(report, b'\n')
            child(work, begin, report)
        finally:
            os._exit(0)
    os.close(begin)
    os.close(report)
    os.read(result, 1)
    return pid, release, result


def record(world, stream, work, *options):
    """What the child wrote down, and the rows of its process, ordered by mono_ns."""
    pid, release, result = spawn(work)
    with world.session('--' + stream, '--pid', pid, *options) as session:
        os.write(release, b'\n')
        with os.fdopen(result) as file:
            told = json.load(file)
        os.waitpid(pid, 0)
        os.close(release)
    told['pid'] = pid
    if told['skip']:
        raise Skip(told['skip'])
    check(not told['failure'], *str(told['failure']).splitlines())
    return told, sorted(session.rows(stream), key=lambda row: int(row['mono_ns']))


def whole(told, row):
    """Judges the columns that every row of the child has, and that its times are within the child's run."""
    expected = {'pid': str(told['pid']), 'tid': str(told['pid']), 'uid': str(os.getuid()),
                'ppid': str(os.getpid())}
    with open('/proc/self/comm', encoding='ascii') as file:
        expected['command'] = file.read().strip()
    equal({name: row[name] for name in expected}, expected, 'who did it')
    begin, end = told['window']
    check(begin <= int(row['mono_ns']) and int(row['mono_ns']) + int(row['latency_ns']) <= end,
          'time of the row', row)
    check(int(row['latency_ns']) > 0, 'latency', row)


def judge(told, rows):
    """Every column of every row; columns that the child did not write down are empty."""
    brief = [(row['operation'], {name: value for name, value in row.items()
                                 if value and name not in FREE}) for row in rows]
    for number, (due, row) in enumerate(zip(told['rows'], rows)):
        middle = [name for name in list(row)[5:-5] if name not in FREE]
        got = {name: row[name] for name in ['operation', *middle]}
        want = {name: str(due.get(name, '')) for name in ['operation', *middle]}
        wrong = [name for name in want if want[name] != got[name]]
        check(not wrong, 'row %d, %s' % (number, due['operation']),
              *['%s: expected %r, got %r' % (name, want[name], got[name]) for name in wrong])
        check(not set(due) - set(got), 'columns that do not exist', set(due) - set(got))
        whole(told, row)
    equal(len(rows), len(told['rows']), 'rows')
    return brief


def waited(told, row):
    """The call of the row waited for what was done meanwhile."""
    begin = int(row['mono_ns'])
    check(begin < told['acted'] <= begin + int(row['latency_ns']) <= told['window'][1], 'latency', row, told['acted'])


def exact(world, stream, work, *options):
    told, rows = record(world, stream, work, *options)
    judge(told, rows)
    return rows


def connected(which):
    """listener, client, server"""
    family, host = FAMILIES[which]
    listener = socket.socket(family)
    listener.bind((host, 0))
    listener.listen(8)
    client = socket.socket(family)
    client.connect(listener.getsockname())
    server, _ = listener.accept()
    return listener, client, server


def port(one):
    return one.getsockname()[1]


class Way:
    """A flow from one socket to another, and its rows."""

    def __init__(self, book, which, protocol, source, dest, addresses=None):
        version, shown = SHOWN[which]
        self.book = book
        self.fixed = {'protocol': protocol, 'ip_version': version, 'source_port': source,
                      'dest_port': dest}
        self.fixed['source_addr'], self.fixed['dest_addr'] = addresses or (shown, shown)

    def row(self, operation, size, result, flags='0', **more):
        done = {'bytes_completed': max(result, 0), 'error_code': max(-result, 0)}
        self.book.row(operation, size=size, msg_flags=flags, **{**self.fixed, **done, **more})

    def send(self, size, result, flags='0', **more):
        self.row('SEND', size, result, flags, **more)

    def receive(self, size, result, flags='0', **more):
        self.row('RECEIVE', size, result, flags, **more)


def datagram_pair(which, connect=True):
    family, host = FAMILIES[which]
    pair = [socket.socket(family, socket.SOCK_DGRAM) for _ in range(2)]
    for one in pair:
        one.bind((host, 0))
    if connect:
        pair[0].connect(pair[1].getsockname())
        pair[1].connect(pair[0].getsockname())
    return pair


def sockaddr(one):
    """The address of a socket as the kernel takes it."""
    if one.family == socket.AF_INET:
        host, number = one.getsockname()
        data = struct.pack('=H2s4s8x', one.family, struct.pack('!H', number), socket.inet_aton(host))
    else:
        host, number = one.getsockname()[:2]
        data = struct.pack('=H2sI16sI', one.family, struct.pack('!H', number), 0,
                           socket.inet_pton(socket.AF_INET6, host), 0)
    return ctypes.create_string_buffer(data, len(data))
