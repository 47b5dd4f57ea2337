# SPDX-License-Identifier: GPL-2.0-or-later
"""What an event costs when a filter rejects it, or when it is not drawn (--sample).

It costs the program that makes it, and nobody else. One that is recorded costs the daemon CPU time too, on whatever
CPU that runs: the bars are of both together. What the program alone pays is shown beside them: of that, the bare
hooks, which whoever records system calls pays for all of them, are more than a quarter.
"""
import contextlib
import functools
import os

from lib import tracers
from lib.daemon import Daemon
from lib.part_row import Least, measure, ratio, show
from lib.part_sustained import daemon_share
from lib.table import Table, bar, note

FILTERS = (
    ('pid', ['--pid', '1']),
    ('command', ['--command', 'nobody']),
    ('cgroup', None),
    ('path', None),
    ('sampled out', None),
)


@contextlib.contextmanager
def session(daemon, options):
    with daemon.session('--vfs', *options):
        yield []


def cgroup_mount():
    with open('/proc/self/mountinfo', encoding='utf-8') as file:
        return next((line.split()[4] for line in file if ' - cgroup2 ' in line), None)


@contextlib.contextmanager
def cgroup_elsewhere(daemon):
    """A session for a cgroup that nothing runs in."""
    place = os.path.join(cgroup_mount(), 'iotracer-bench-%d' % os.getpid())
    os.mkdir(place)
    try:
        with session(daemon, ['--cgroup', place]) as words:
            yield words
    finally:
        os.rmdir(place)


def variants_of(world, daemon, lost):
    folder = os.path.join(world.folder, 'elsewhere')
    os.makedirs(folder, exist_ok=True)
    found = [
        Least('untraced', tracers.nothing),
        Least('empty pair', functools.partial(tracers.empty_programs, world, 'tracepoint')),
        Least('recorded', functools.partial(tracers.iotracer, daemon, 'vfs', lost)),
        Least('other operation', functools.partial(session, daemon, ['--operation', 'WRITE'])),
    ]
    for name, options in FILTERS:
        if name == 'path':
            options = ['--path', folder]
        if options:
            found.append(Least(name, functools.partial(session, daemon, options)))
        elif name == 'sampled out':
            found.append(Least(name, functools.partial(tracers.sampled_out, daemon, 'vfs')))
        elif cgroup_mount():
            found.append(Least(name, functools.partial(cgroup_elsewhere, daemon)))
    return found


def beyond(added, name):
    """Share of what a recorded row costs the program beyond the bare hooks."""
    if name not in added or added.get('recorded') is None or 'empty pair' not in added:
        return None
    return (added[name] - added['empty pair']) / (added['recorded'] - added['empty pair'])


def show_shares(added, row):
    table = Table('Of what a recorded event costs', '', 'program and daemon', 'program alone',
                  'program alone, beyond an empty pair')
    for name, _ in FILTERS:
        table.add(name, added[name] / row if name in added else None, ratio(added, name, 'recorded'),
                  beyond(added, name))
    table.show()
    for name, _ in FILTERS:
        bar('%s, of a row' % name, added[name] / row if name in added else None, '<=',
            1 / 4 if name == 'sampled out' else 1 / 3, 'x')


def part(world):
    lost = []
    with Daemon(world) as daemon:
        variants = variants_of(world, daemon, lost)
        measure(world, variants)
        daemon_ns = daemon_share(world, daemon)
    added = show('Cost of an event that is no row: pread of 1 byte', variants)
    note('rows lost while measured: %d' % sum(lost))
    note('a recorded one costs the daemon %.0f ns of CPU more' % daemon_ns)
    show_shares(added, added['recorded'] + daemon_ns)
