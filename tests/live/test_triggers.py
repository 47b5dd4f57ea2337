# SPDX-License-Identifier: GPL-2.0-or-later
"""Every trigger's rows, field by field, from one session that all of them run in."""
import os
import re
import time

from lib import ctl, rows
from lib.match import Matcher
from lib.registry import Failure, Skip, check, equal, register

# Opens its files before the session begins.
EARLY = {'opened_before'}
NOT_HERE = {'workload', 'crowd', 'count'}
# What each column of any row looks like.
PATTERNS = [
    ('timestamp', r'\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{9}'), ('operation', r'[A-Z_]+'),
    ('pid', r'[1-9]\d*'), ('tid', r'[1-9]\d*'), ('command', r'.+'), ('size', r'-?\d*'),
    ('offset', r'-?\d*'), ('bytes_completed', r'\d*'), ('inode', r'\d*'), ('device', r'(\d+:\d+)?'),
    ('latency_ns', r'\d+'), ('return_value', r'(-?\d+)?'), ('errno', r'\d*'),
    ('address', r'(0x[0-9a-f]+)?'), ('fd', r'(-?\d+)?'), ('fs_type', r'[a-z0-9_.-]*'),
    ('ppid', r'\d+'), ('uid', r'\d+'), ('cgroup_id', r'\d*'), ('cpu_id', r'\d+'),
    ('mono_ns', r'\d+'),
]


class Batch:
    """All triggers, run once, when the first test asks."""

    def __init__(self):
        self.done = False
        self.errors, self.expected, self.pids, self.rows = {}, {}, {}, []
        self.session_error = None

    def get(self, world):
        if not self.done:
            self.done = True
            self.run(world)
        return self

    def run(self, world):
        table = [name for name in world.trigger.table() if name not in NOT_HERE]
        base = world.make('triggers')
        folder = lambda name: os.path.join(base, name)
        early = {name: world.trigger.begin(name, folder(name)) for name in EARLY}
        self.real, self.mono = time.time_ns(), time.monotonic_ns()
        self.session = world.session('--vfs', '--command', 'iotr-trigger')
        self.session.start()
        for name in table:
            try:
                process = early.get(name) or world.trigger.begin(name, folder(name))
                self.pids[name] = process.pid
                self.expected[name] = world.trigger.go(process, name, folder(name))
            except Failure as failure:
                self.errors[name] = failure.lines
        try:
            self.session.stop()
        except Failure as failure:
            self.session_error = failure
        self.rows = self.session.rows()


BATCH = Batch()


def run_trigger(world, name):
    batch = BATCH.get(world)
    if name in batch.errors:
        raise Failure(*batch.errors[name])
    expected = batch.expected[name]
    if not expected.rows:
        raise Skip(', '.join(expected.missing) or 'nothing to expect')
    lines = Matcher(world.level).judge(expected.rows, expected.windows, batch.rows)
    if lines:
        raise Failure(*lines)


def session(world):
    batch = BATCH.get(world)
    if batch.session_error:
        raise batch.session_error
    check(batch.rows, 'no rows at all')


def coverage(world):
    """Every operation of the stream has a trigger."""
    streams = world.ctl.json('streams')
    stream = next(one for one in rows.walk(streams)
                  if 'vfs' in (one.get('flag'), one.get('name')) and 'operations' in one)
    names = [one if isinstance(one, str) else one.get('name') or one.get('operation')
             for one in stream['operations']]
    check(len(names) >= 43, 'few operations', names)
    covered = {one for operations in world.trigger.table().values() for one in operations}
    equal(sorted(set(names) - covered), [], 'operations without a trigger')


def columns(world):
    """The catalogue's columns, in order, and values of their type."""
    batch = BATCH.get(world)
    stream = next(one for one in rows.walk(world.ctl.json('streams'))
                  if 'vfs' in (one.get('flag'), one.get('name')) and 'columns' in one)
    names = [one if isinstance(one, str) else one['name'] for one in stream['columns']]
    equal(list(batch.rows[0]), names, 'columns')
    equal(names[:5] + names[-5:], rows.FIRST + rows.LAST, 'common columns')
    for name, pattern in PATTERNS:
        fits = re.compile(pattern).fullmatch
        for row in batch.rows:
            if not fits(row[name]):
                raise Failure('column %s holds %r' % (name, row[name]), row)


def identity(world):
    """Who did it and when, of every row."""
    batch = BATCH.get(world)
    end = time.monotonic_ns()
    pids = {str(pid) for pid in batch.pids.values()}
    mine = [row for row in batch.rows if row['pid'] in pids]
    check(mine, 'no rows of the triggers')
    for row in mine:
        equal(row['command'], 'iotr-trigger', 'command')
        equal(row['ppid'], str(os.getpid()), 'ppid')
        equal(row['uid'], '0', 'uid')
        check(int(row['cpu_id']) < os.cpu_count(), 'cpu_id', row)
        check(batch.mono <= int(row['mono_ns']) <= end, 'mono_ns outside of the session', row)
        check(abs(rows.real_time(row) - int(row['mono_ns']) - (batch.real - batch.mono)) < 10**9,
              'timestamp and mono_ns tell different times', row)


def errors_agree(world):
    """A negative return value of a failure and errno are one."""
    for row in BATCH.get(world).rows:
        if not row['return_value']:
            continue  # its thread died in the call
        value, number = int(row['return_value']), int(row['errno'])
        failed = -4096 < value < 0
        equal(number, -value if failed else 0, 'errno of %s' % row)


def others(world):
    """A filter by command lets no other command through."""
    names = {row['command'] for row in BATCH.get(world).rows}
    equal(names, {'iotr-trigger'}, 'commands in the rows')


def loader(world):
    """Rows of the loader, before main(), are there, too."""
    batch = BATCH.get(world)
    mine = ctl.own(batch.rows, batch.pids['read'])
    opened = [row['filename'] for row in mine if row['operation'] == 'OPEN']
    check(any('libc' in name for name in opened), 'no OPEN of libc', *opened[:10])


def register_all():
    for function in (session, coverage, columns, identity, errors_agree, others, loader):
        register('triggers.' + function.__name__, function)
    for name in sorted(set(table_names()) - NOT_HERE):
        register('triggers.' + name, lambda world, name=name: run_trigger(world, name))


def table_names():
    """The table stands in the sources: the list of tests must not need a build."""
    here = os.path.dirname(os.path.abspath(__file__))
    names = []
    for path in sorted(os.listdir(here)):
        if path.startswith('trigger_') and path.endswith('.c'):
            with open(os.path.join(here, path), encoding='utf-8') as file:
                names += re.findall(r'\{ \.name = "(\w+)"', file.read())
    return names
