# SPDX-License-Identifier: GPL-2.0-or-later
"""What an event costs the program that makes it when a filter rejects it, or the draw leaves it out."""
import contextlib
import functools
import os

from lib import tracers
from lib.daemon import Daemon
from lib.part_row import Variant, measure, ratio, show
from lib.table import bar, note

FILTERS = (
    ('pid', ['--pid', '1']),
    ('command', ['--command', 'nobody']),
    ('cgroup', None),
    ('path', None),
    ('sampled out', ['--sample', 'vfs=1000000000']),
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
        Variant('untraced', tracers.nothing),
        Variant('empty pair', functools.partial(tracers.empty_pair, world, 'tracepoint')),
        Variant('recorded', functools.partial(tracers.iotracer, daemon, 'vfs', lost)),
        Variant('other operation', functools.partial(session, daemon, ['--operation', 'WRITE'])),
    ]
    for name, options in FILTERS:
        if name == 'path':
            options = ['--path', folder]
        if name != 'cgroup':
            found.append(Variant(name, functools.partial(session, daemon, options)))
        elif cgroup_mount():
            found.append(Variant(name, functools.partial(cgroup_elsewhere, daemon)))
    return found


def beyond(added, name):
    """Of what a row costs beyond the bare hooks, which whoever records system calls pays for all of them."""
    if name not in added or added.get('recorded') is None or 'empty pair' not in added:
        return None
    return (added[name] - added['empty pair']) / (added['recorded'] - added['empty pair'])


def part(world):
    lost = []
    with Daemon(world) as daemon:
        variants = variants_of(world, daemon, lost)
        measure(world, variants)
    added = show('Cost of an event that is no row: pread of 1 byte', variants)
    note('rows lost while measured: %d' % sum(lost))
    for name, _ in FILTERS:
        limit = 1 / 4 if name == 'sampled out' else 1 / 3
        bar('%s, of a row' % name, ratio(added, name, 'recorded'), '<=', limit, 'x')
        bar('%s, of a row, both beyond an empty pair' % name, beyond(added, name), '<=', limit, 'x')
