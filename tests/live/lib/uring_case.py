# SPDX-License-Identifier: GPL-2.0-or-later
"""A session of io_uring rows, and what must stand in it."""
import ctypes
import os
import platform
import re
import socket
import threading

from lib import uring
from lib.registry import Skip, check, equal

OLDEST = int(platform.release().split('.')[0]) < 6  # completions do not tell their request
FLAGS = ('FIXED_FILE', 'IO_DRAIN', 'IO_LINK', 'IO_HARDLINK', 'ASYNC', 'BUFFER_SELECT',
         'CQE_SKIP_SUCCESS')
PATTERNS = {
    'timestamp': r'\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{9}', 'latency_ms': r'\d+\.\d{6}',
    'ring_id': r'[1-9]\d*', 'cgroup_id': r'\d+', 'cpu_id': r'\d+', 'mono_ns': r'\d+',
    'async': r'[01]', 'inode': r'\d*', 'filename': r'.*',
}


def flag_names(flags):
    return '|'.join('IOSQE_' + name for bit, name in enumerate(FLAGS) if flags >> bit & 1) or '0'


def identity(path):
    """What a row says of a file."""
    stat = os.stat(path)
    return {'inode': str(stat.st_ino), 'filename': path if isinstance(path, str) else None,
            'device': '%d:%d' % (os.major(stat.st_dev), os.minor(stat.st_dev))}


class Case:
    """with Case(world) as case: requests through case.ring, and case.expect() for each row."""

    def __init__(self, world, *options, flags=0, entries=64, completions=0, threads=False):
        self.world, self.options, self.threads = world, options, threads
        try:
            self.ring = uring.Ring(entries, flags, completions)
        except OSError as error:
            raise Skip('io_uring: %s' % error) from None
        self.has = self.ring.supported()
        self.expected, self.folder = [], world.make('uring')

    def need(self, *operations):
        lacking = [name for name in operations if name not in self.has]
        if lacking:
            self.ring.close()
            raise Skip('the kernel has no %s' % ' '.join(lacking))
        return self

    def file(self, length=65536, flags=os.O_RDWR):
        path = self.world.path('uring-file')
        with open(path, 'wb') as file:
            file.write(bytes(range(256)) * (length // 256))
        fd = os.open(path, flags)
        self.world.undo.callback(os.close, fd)
        return path, fd

    def buffer(self, size=4096):
        buffer = ctypes.create_string_buffer(size)
        self.ring.keep(buffer)
        return buffer

    def __enter__(self):
        self.session = self.world.session('--iouring', '--pid', os.getpid(), *self.options)
        self.session.start()
        return self

    def expect(self, entry, file=None, **columns):
        """A row of the entry: columns that are not named must be empty, where they may be."""
        want = {'operation': str(entry.opcode), 'fd': '', 'offset': '', 'length': '',
                'result': str(columns.pop('result', entry.__dict__.get('result'))), 'inode': '',
                'filename': '', 'device': '', 'user_data': hex(entry.user_data),
                'sqe_flags': flag_names(entry.flags), 'pid': str(os.getpid()),
                'ppid': str(os.getppid()), 'uid': str(os.geteuid())}
        if not self.threads:
            want['tid'] = str(threading.get_native_id())
            with open('/proc/self/comm', encoding='ascii') as comm:
                want['command'] = comm.read().strip()
        if file:
            want.update(identity(file))
        want.update({name: None if value is None else str(value) for name, value in columns.items()})
        self.expected.append((entry, want))

    def io(self, entry, file, **columns):
        """expect() of a request that works on a part of a file."""
        self.expect(entry, file, **{'fd': entry.fd, 'offset': entry.off, 'length': entry.length,
                                    **columns})

    def __exit__(self, kind, value, trace):
        if kind is not None:
            self.ring.close()
            self.session.__exit__(kind, value, trace)
            return
        self.ring.close()
        self.session.stop()
        self.rows = self.session.rows('iouring')
        self.judge()

    def judge(self):
        left, wrong = list(self.rows), []
        for entry, want in self.expected:
            row = next((row for row in left if row['user_data'] == want['user_data']), None)
            if row is None:
                wrong.append('no row for %s' % want)
                continue
            left.remove(row)
            wrong += ['%s %s: %s: expected %r, got %r' % (want['operation'], want['user_data'], name,
                                                         value, row[name])
                      for name, value in want.items() if value is not None and row[name] != value]
            wrong += self.shape(entry, row)
        wrong += ['not expected: %s' % row for row in left]
        equal(len({row['ring_id'] for row in self.rows}), 1 if self.rows else 0, 'numbers of the ring')
        check(not wrong, *wrong)

    @staticmethod
    def shape(entry, row):
        wrong = ['%s: %s: %r' % (row['operation'], name, row[name])
                 for name, pattern in PATTERNS.items() if not re.fullmatch(pattern, row[name])]
        begin = int(row['mono_ns'])
        took = round(float(row['latency_ms']) * 1000000)
        if 'begin' in entry.__dict__ and not (
                entry.begin <= begin and 0 < took and begin + took <= entry.end):
            wrong.append('%s: begin %d, took %d, not within %d to %d'
                         % (row['operation'], begin, took, entry.begin, entry.end))
        return wrong


def results(entries, completions):
    """Gives each entry the result that the program was told."""
    told = {number: result for number, result, _ in completions}
    for entry in entries:
        entry.result = told[entry.user_data]


def pipe(world):
    ends = os.pipe()
    for end in ends:
        world.undo.callback(os.close, end)
    return ends


def of_pipe(end, fd=None):
    """A pipe has an inode, but no name."""
    return {**identity(end), 'filename': None, 'fd': end if fd is None else fd}


def listener(world):
    server = socket.create_server(('127.0.0.1', 0))
    world.undo.callback(server.close)
    return server


def of_socket(fd):
    return {**identity(fd), 'filename': None, 'fd': fd}


def pair(world):
    both = socket.socketpair()
    for one in both:
        world.undo.callback(one.close)
    return [one.fileno() for one in both]
