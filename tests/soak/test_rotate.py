# SPDX-License-Identifier: GPL-2.0-or-later
"""Rotation under load: no row lost, none twice, none split."""
import os
import time

from lib.load import Load
from lib.registry import check, equal, test

import ground

INTERVAL = 0.1


def rotate_for(ctl, seconds):
    """How often it was rotated."""
    count, begin = 0, time.monotonic()
    while time.monotonic() - begin < seconds:
        closed = ctl.json('rotate', 'rotated')['closed']
        check(all(os.path.exists(path) or os.path.exists(path + '.gz') for path in closed),
              'a closed segment is not there', closed)
        count += bool(closed)
        time.sleep(INTERVAL)
    return count


def by_itself(_, seconds):
    """How many rotations there must be at least, on a busy machine."""
    time.sleep(seconds)
    return int(seconds / INTERVAL / 4)


def rotated(world, rate, rotate=rotate_for, options=()):
    _, ctl = ground.begin(world)
    load = Load(world, rate)
    session = world.session('--vfs', '--pid', load.pid, '--operation', 'READ,WRITE', *options,
                            name='rotated', ctl=ctl, lossless=False).start()
    load.go()
    count = rotate(ctl, world.amounts['rotate'])
    done = load.end()
    session.running = False
    one = ground.trace_true(session.output, ctl.json('stop', 'rotated'))['vfs']
    equal(one['emitted'], done, 'emitted, and what the load did')
    found = ground.offsets(session.output)
    ground.no_duplicates(found, 'all segments')
    check(len(ground.closed(session.output)) >= count, 'fewer segments than rotations')
    ground.note('%d rotations, %d operations, %d rows, lost: %s'
                % (count, done, len(found), ground.lost(one) or 'none'))
    return one, found


@test
def at_full_speed(world):
    """At full speed a full ring may lose rows, which are counted; a rotation may lose none."""
    one, found = rotated(world, 0)
    equal(set(ground.lost(one)) - {'ring', 'queue'}, set(), 'where rows were lost')
    equal(len(found), one['written'], 'rows')


@test
def lossless(world):
    """Well below full speed every row is there."""
    one, found = rotated(world, 10000)
    equal(ground.lost(one), {}, 'lost rows')
    equal(sorted(found), list(range(one['emitted'])), 'offsets')


@test
def by_time(world):
    """Rotation by time, every 100 ms, at full speed."""
    one, found = rotated(world, 0, by_itself, ('--rotate-interval', '100ms'))
    equal(set(ground.lost(one)) - {'ring', 'queue'}, set(), 'where rows were lost')
    equal(len(found), one['written'], 'rows')


@test
def by_size(world):
    """Rotation at the smallest size, below full speed: every row is there."""
    one, found = rotated(world, 10000, lambda _, seconds: time.sleep(seconds) or 10,
                         ('--rotate-size', '64K'))
    equal(ground.lost(one), {}, 'lost rows')
    equal(sorted(found), list(range(one['emitted'])), 'offsets')


@test
def typed(world):
    """Rotation by time and size, with JSON lines: as many rows as the load did."""
    _, ctl = ground.begin(world)
    load = Load(world, 5000)
    session = world.session('--vfs', '--pid', load.pid, '--operation', 'READ,WRITE', '--format',
                            'jsonl', '--rotate-size', '256K', '--rotate-interval', '100ms',
                            name='typed', ctl=ctl).start()
    load.go()
    time.sleep(world.amounts['rotate'])
    done = load.end()
    session.stop()
    equal(sorted(int(row['offset']) for row in session.rows()), list(range(done)), 'offsets')
