# SPDX-License-Identifier: GPL-2.0-or-later
"""What the counts by layer add to a 1-byte pwrite and a 1-byte pread of a file in the page cache, without a session."""
import functools

from lib import tracers
from lib.part_row import Least, measure, ratio, show
from lib.table import bar


def part(world):
    for kind in ('pwrite', 'pread'):
        one = functools.partial(Least, calls=1000, batches=100, options=('-k', kind))
        variants = [
            one('untraced', tracers.nothing),
            one('empty pair', functools.partial(tracers.empty_programs, world, 'tracepoint')),
            one('counts by layer', functools.partial(tracers.layers, world)),
        ]
        measure(world, variants)
        added = show('Cost of counts by layer: %s of 1 byte' % kind, variants)
        if kind == 'pwrite':
            bar('counts by layer, of the empty pair', ratio(added, 'counts by layer', 'empty pair'), '<=', 1.5, 'x')
