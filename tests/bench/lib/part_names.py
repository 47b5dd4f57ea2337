# SPDX-License-Identifier: GPL-2.0-or-later
"""What a row's name costs while files are renamed: those of others are to be told no more often for it.

Two renames of a file, and a pread of another one after them, less the two renames: beside a pread alone. All of it in one
thread, so that no other CPU's work is measured with it. What the renames leave in the CPU's caches makes the untraced pread
slower as well: the bar is held against its ratio.
"""
import contextlib

from lib import tracers
from lib.daemon import Daemon
from lib.part_row import Own, measure
from lib.table import Table, bar

KINDS = ('pread', 'rename', 'rename-pread')


@contextlib.contextmanager
def reads(daemon):
    """A session of the reads alone: renames then cost no rows, only the hooks that follow names."""
    with daemon.session('--vfs', '--operation', 'READ'):
        yield []


def part(world):
    with Daemon(world) as daemon:
        watched = {'untraced': tracers.nothing, 'iotracer': lambda: reads(daemon)}
        variants = {(name, kind): Own(name, tracer, options=('-k', kind))
                    for name, tracer in watched.items() for kind in KINDS}
        measure(world, list(variants.values()))
    table = Table('A pread of 1 byte after renames of another file, ns (%s)' % Own.basis, '', 'alone', 'after', 'ratio')
    ratios = {}
    for name in watched:
        alone, renames, both = (variants[name, kind].figure() for kind in KINDS)
        after = both - renames if both and renames else None
        ratios[name] = after / alone if after and alone else None
        table.add(name, alone, after, ratios[name])
    table.show()
    known = ratios['untraced'] and ratios['iotracer']
    bar('iotracer, ratio of the untraced one', ratios['iotracer'] / ratios['untraced'] if known else None, '<=', 1.10, 'x')
