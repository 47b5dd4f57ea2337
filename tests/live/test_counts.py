# SPDX-License-Identifier: GPL-2.0-or-later
"""As many rows as there were operations."""
import collections
import os
import re

from lib import ctl
from lib.match import Matcher
from lib.registry import Failure, Skip, check, equal, test

FAMILIES = {
    'READ': 'read pread64 readv preadv preadv2',
    'WRITE': 'write pwrite64 writev pwritev pwritev2',
    'OPEN': 'open openat openat2 creat',
    'CLOSE': 'close close_range',
    'GETATTR': 'stat fstat lstat newfstatat statx fstatat64',
    'MMAP': 'mmap',
    'MUNMAP': 'munmap',
    'TRUNCATE': 'truncate ftruncate',
    'MKDIR': 'mkdir mkdirat',
    'RMDIR': 'rmdir',
    'RENAME': 'rename renameat renameat2',
    'UNLINK': 'unlink unlinkat',
    'CHDIR': 'chdir fchdir',
}
ROUNDS = 300


@test
def many(world):
    """Ten thousand reads, one row for each."""
    count = 10000
    with world.session('--vfs', '--command', 'iotr-trigger', '--operation', 'READ') as session:
        _, expected = world.trigger.run('count', world.path('count'), '--count', str(count))
    window = expected.windows[0]
    rows = [row for row in session.rows() if int(row['mono_ns']) >= window['window'][0]
            and int(row['mono_ns']) <= window['window'][1] and row['pid'] == str(window['pid'])]
    equal(len(rows), count, 'rows')
    matcher, one = Matcher(world.level), expected.rows[0]
    for row in rows:
        wrong = matcher.differences(one, row)
        check(not wrong, *wrong)
    offsets = collections.Counter(int(row['offset']) for row in rows)
    want = collections.Counter(index % 4096 for index in range(count))
    check(offsets == want, 'offsets are not those of the reads')


def strace_counts(path):
    counts = {}
    with open(path, encoding='utf-8') as file:
        for line in file:
            words = line.split()
            if len(words) >= 5 and re.fullmatch(r'[\d.]+', words[0]):
                counts[words[-1]] = int(words[3])
    counts.pop('total', None)
    return counts


@test
def strace(world):
    """The same numbers that strace counts."""
    world.need('strace')
    table, folder = world.path('strace'), world.make('work')
    with world.session('--vfs', '--command', 'iotr-trigger') as session:
        done = world.command('strace', '-f', '-c', '-o', table, world.trigger.program, '--expect',
                             folder + '.expect', '--count', ROUNDS, 'workload', folder, check=False)
        if not os.path.exists(table) or not os.path.getsize(table):
            raise Skip('strace: %s' % done.stderr.strip())
    counted = strace_counts(table)
    rows = collections.Counter(row['operation'] for row in session.rows())
    wrong = []
    for operation, calls in FAMILIES.items():
        want = sum(counted.get(call, 0) for call in calls.split())
        if rows[operation] != want:
            wrong.append('%s: %d calls, %d rows' % (operation, want, rows[operation]))
    if wrong:
        raise Failure(*wrong)


@test
def processes(world):
    """Many short processes at once: none is mixed up with another."""
    count, each = 20, 200
    with world.session('--vfs', '--command', 'iotr-trigger', '--operation', 'READ') as session:
        running = []
        for index in range(count):
            folder = world.path('count')
            running.append((world.trigger.begin('count', folder, '--count', str(each)), folder))
        expected = {process.pid: world.trigger.go(process, 'count', folder)
                    for process, folder in running}
    rows, matcher = session.rows(), Matcher(world.level)
    for pid, one in expected.items():
        lines = matcher.judge(one.rows, one.windows, ctl.own(rows, pid))
        check(not lines, *lines)
