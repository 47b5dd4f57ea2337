# SPDX-License-Identifier: GPL-2.0-or-later
"""
System calls by number in a process of their own, which says what rows they must make.

The script of a Caller is Python with these at hand: call(number, *arguments), which returns the
result or the negative error number; row(operation, number, *arguments, **columns), which makes the
call and notes the row it must make; anything of ctypes, os, socket, struct and time.
"""
import contextlib
import json
import os
import re
import select
import time

from lib.forked import forked
from lib.registry import PATIENCE, Failure, Skip, check, equal
from lib.rows import real_time

PRELUDE = r'''
import ctypes, json, os, socket, struct, time
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.syscall.restype = ctypes.c_long
NOTED = []
BAD = 0x10  # an address where nothing is

def address(argument):
    return argument if isinstance(argument, int) else ctypes.addressof(argument)

def call(number, *arguments):
    result = LIBC.syscall(*[ctypes.c_long(address(one)) for one in (number, *arguments)])
    return -ctypes.get_errno() if result == -1 else result

def row(operation, number, *arguments, **columns):
    begin = time.monotonic_ns()
    result = call(number, *arguments)
    columns = {name: value(result) if callable(value) else value for name, value in columns.items()}
    columns.setdefault('return_value', result)
    NOTED.append({'within': [begin, time.monotonic_ns()], 'operation': operation, **columns})
    return result

os.write(1, b'READY\n')
os.read(0, 1)
'''
EPILOGUE = "\nprint(json.dumps(NOTED), flush=True)\n"


class Caller:
    def __init__(self, script):
        begin, told = os.pipe(), os.pipe()
        self.pid = forked(PRELUDE + script + EPILOGUE, stdin=begin[0], stdout=told[1])
        os.close(begin[0])
        os.close(told[1])
        # pylint: disable=consider-using-with
        self.gate, self.told = open(begin[1], 'wb', buffering=0), open(told[0], 'rb')
        check(self.told.readline() == b'READY\n', 'the calling process did not get ready')
        with open('/proc/%d/comm' % self.pid, encoding='utf-8') as file:
            self.command = file.read().rstrip('\n')
        with open('/proc/%d/status' % self.pid, encoding='utf-8') as file:
            self.uid = re.search(r'^Uid:\s+(\d+)', file.read(), re.M).group(1)
        self.cgroup = cgroup_of(self.pid)

    def begin(self):
        self.gate.write(b'\n')

    def go(self):
        """Lets the process make its calls; returns the rows that they must make."""
        self.begin()
        check(select.select([self.told], [], [], PATIENCE)[0], 'the calling process does not end')
        out = self.told.read()
        self.end()
        return json.loads(out)

    def end(self, expected=0):
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        check(code == expected, 'the calling process ended with %d' % code)

    def judge(self, noted, rows):
        """One row for each that was noted, in their order, with every column as it must be."""
        rows = sorted(rows, key=lambda row: int(row['mono_ns']))
        equal([row['operation'] for row in rows], [one['operation'] for one in noted], 'operations')
        for number, (one, row) in enumerate(zip(noted, rows), 1):
            wrong = self.differences(one, row)
            check(not wrong, '%s, row %d' % (one['operation'], number), *wrong)

    def head(self):
        return {'pid': self.pid, 'tid': self.pid, 'command': self.command, 'ppid': os.getpid(),
                'uid': self.uid, 'cgroup_id': self.cgroup}

    def differences(self, one, row):
        expected = {**self.head(), **one}
        begin, end = expected.pop('within')
        least = expected.pop('latency_least', 0)
        text = {name: '' if value is None else str(value) for name, value in expected.items()}
        wrong = ['%s: expected %s, got %s' % (name, want, row[name])
                 for name, want in text.items() if row[name] != want]
        at, latency = int(row['mono_ns']), int(row.get('latency_ns') or 0)
        if not begin <= at <= at + latency <= end:
            wrong.append('from %d for %d, not within %d to %d' % (at, latency, begin, end))
        if 'latency_ns' in row and (latency < least or not latency):
            wrong.append('latency_ns: at least %d, got %s' % (least, row['latency_ns']))
        if abs(real_time(row) - at - (time.time_ns() - time.monotonic_ns())) > 10**9:
            wrong.append('timestamp: %s' % row['timestamp'])
        if not 0 <= int(row['cpu_id']) < os.cpu_count():
            wrong.append('cpu_id: %s' % row['cpu_id'])
        elsewhere = {'ready_fds'}  # test_epoll_ready.py
        unnamed = set(row) - set(expected) - {'mono_ns', 'latency_ns', 'timestamp', 'cpu_id'} - elsewhere
        return wrong + ['%s: nothing says what it must be' % name for name in sorted(unnamed)]


def in_call(task, number):
    """Whether a task of /proc waits in the system call of that number."""
    path = '/proc/%s/syscall' % task
    if not os.path.exists(path):
        raise Skip('no ' + path)
    with open(path, encoding='ascii') as file:
        return file.read().split()[0] == str(number)


def cgroup_of(pid):
    """The inode number of the process's cgroup of version 2."""
    with open('/proc/%d/cgroup' % pid, encoding='utf-8') as file:
        path = next(line[3:].rstrip('\n') for line in file if line.startswith('0:'))
    with open('/proc/mounts', encoding='utf-8') as file:
        mounts = [line.split()[1] for line in file if line.split()[2] == 'cgroup2']
    for mount in mounts:
        if os.path.isdir(mount + path):
            return os.stat(mount + path).st_ino
    raise Failure('no cgroup2 file system is mounted')


def judged(world, script, options, stream):
    """Runs a script, judges the rows of a session that records it alone, and returns the session."""
    caller = Caller(script)
    with world.session('--' + stream, '--pid', caller.pid, *options) as session:
        noted = caller.go()
    caller.judge(noted, session.rows(stream))
    return session, noted


def filtered(world, stream, script, expected):
    """Each session's options, and the operations of its rows when a script runs in which all of the sessions record it."""
    caller = Caller(script)
    with contextlib.ExitStack() as stack:
        sessions = [stack.enter_context(world.session('--' + stream, '--pid', caller.pid, *options)) for options, _ in expected]
        caller.go()
    for session, (options, operations) in zip(sessions, expected):
        rows = sorted(session.rows(stream), key=lambda row: int(row['mono_ns']))
        equal([row['operation'] for row in rows], operations, 'operations with %s' % options)
