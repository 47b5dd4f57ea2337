# SPDX-License-Identifier: GPL-2.0-or-later
"""Sessions that start and stop at random, beside one that must lose nothing."""
import shutil
import time

from lib.load import Load
from lib.registry import test, wait_for

import ground

OPTIONS = (
    ('--vfs',),
    ('--block',),
    ('--vfs', '--block'),
    ('--vfs', '--operation', 'READ', '--min-size', '1'),
    ('--vfs', '--command', 'python3'),
    ('--vfs', '--errors'),
)
# The sessions record the load alone: 64 sessions of all that the machine does would overload it.
SMALL = (
    ('--vfs',),
    ('--vfs', '--block', '--rotate-interval', '100ms', '--rotate-size', '64K'),
    ('--vfs', '--max-events', '500'),
    ('--all', '--max-size', '64K'),
    ('--vfs', '--format', 'csv', '--operation', 'WRITE'),
)


def start_one(world, ctl, running, number, options):
    name = 'churn-%d' % number
    output = world.path('trace')
    ctl.json('start', name, *world.random.choice(options), '--output', output)
    running[name] = output


def stop_one(world, ctl, running):
    """Rows of the session that ended."""
    name = world.random.choice(sorted(running))
    output = running.pop(name)
    accounts = ground.trace_true(output, ctl.json('stop', name))
    shutil.rmtree(output, ignore_errors=True)
    return sum(one['written'] for one in accounts.values())


def churn(world, crowd, rate, stops, options):
    """`crowd` at once at most, beside the witness; `stops`: how likely one ends, not begins."""
    daemon, ctl = ground.begin(world)
    before = ground.at_rest(daemon, ctl)
    witness = ground.Witness(world, ctl)
    busy = Load(world, rate=rate, sync=5000).go()
    running, started, written, most = {}, 0, 0, 0
    end = time.monotonic() + world.amounts['churn']
    while time.monotonic() < end:
        if running and (len(running) == crowd or world.random.random() < stops):
            written += stop_one(world, ctl, running)
        else:
            start_one(world, ctl, running, started, options(busy))
            started += 1
            most = max(most, len(running))
    while running:
        written += stop_one(world, ctl, running)
    busy.end()
    ground.note('%d sessions, %d at once, %d rows; the witness: %d rows'
                % (started, most, written, witness.end()))
    wait_for('as many descriptors as before', lambda: ground.at_rest(daemon, ctl)[0] <= before[0],
             lambda: [before[0], ground.opened(daemon.process.pid)])
    ground.note('memory of its own: %d KiB before, %d KiB after' % (before[1], ground.heap(daemon.process.pid)))


@test
def at_random(world):
    churn(world, 12, 20000, 0.5, lambda _: OPTIONS)


@test
def crowd(world):
    """As many as there can be, with limits and rotations of their own."""
    churn(world, 63, 500, 0.3, lambda busy: [one + ('--pid', busy.pid) for one in SMALL])
