# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables of what is in flight: many at the same time, more than there is room for, and the room that is given back."""
import ctypes
from collections import Counter

from lib import uring
from lib.registry import check, equal, test

PLACES = 8192  # of the table of requests of io_uring
RING = 1024
ETIME = '-62'


def timeouts(world, count):
    """So many requests that are all in flight until the last one is. Their rows, and how many are counted as lost."""
    time = ctypes.create_string_buffer(16)
    ctypes.c_uint64.from_buffer(time).value = 1
    rings = [uring.need(RING) for _ in range(count // RING)]
    with world.session('--iouring', '--no-snapshots') as session:
        for ring in rings:
            for _ in range(RING):
                ring.push('TIMEOUT', addr=uring.address(time), length=1)
            ring.enter()
        for ring in rings:
            equal(Counter(str(result) for _, result, _ in ring.finish(RING)), {ETIME: RING}, 'results')
            ring.close()
    rows = [row for row in session.rows('iouring') if row['operation'] == 'TIMEOUT']
    equal({row['result'] for row in rows}, {ETIME}, 'results in rows')
    each = Counter((row['ring_id'], row['user_data']) for row in rows)
    equal(set(each.values()), {1}, 'rows of a request')
    return len(each), session.accounts['iouring']['lost']['unmatched']


@test
def half_of_the_room(world):
    """Most keys have their home, and the others are elsewhere: none is lost."""
    equal(timeouts(world, PLACES // 2), (PLACES // 2, 0), 'rows, and lost')


@test
def beyond_the_room(world):
    """What finds no place is counted, and when it has ended there is room as before."""
    rows, lost = timeouts(world, PLACES + PLACES // 2)
    equal(rows + lost, PLACES + PLACES // 2, 'rows and losses')
    check(rows > PLACES * 9 // 10, 'only %d rows' % rows)
    equal(timeouts(world, PLACES // 2), (PLACES // 2, 0), 'rows, and lost, when all have ended')
