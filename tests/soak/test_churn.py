# SPDX-License-Identifier: GPL-2.0-or-later
"""Sessions that come and go at random, beside one that must not notice."""
import shutil
import time

from lib.registry import check, test

import ground

CROWD = 63  # at once, and the witness
OPTIONS = (
    ('--vfs',),
    ('--block',),
    ('--vfs', '--block'),
    ('--vfs', '--operation', 'READ', '--min-size', '1'),
    ('--vfs', '--command', 'python3'),
    ('--vfs', '--errors'),
    ('--vfs', '--block', '--rotate-interval', '100ms', '--rotate-size', '64K'),
    ('--vfs', '--max-events', '500'),
    ('--all', '--max-size', '64K'),
)


def start_one(world, ctl, running, number):
    name = 'churn-%d' % number
    output = world.path('trace')
    ctl.json('start', name, *world.random.choice(OPTIONS), '--output', output)
    running[name] = output


def stop_one(world, ctl, running):
    """Rows of the session that ended."""
    name = world.random.choice(sorted(running))
    output = running.pop(name)
    accounts = ground.trace_true(output, ctl.json('stop', name))
    shutil.rmtree(output)
    return sum(one['written'] for one in accounts.values())


@test
def at_random(world):
    daemon, ctl = ground.begin(world)
    before = ground.at_rest(daemon, ctl)
    witness = ground.Witness(world, ctl)
    busy = ground.Load(world, rate=20000, sync=5000).go()
    running, started, written = {}, 0, 0
    end = time.monotonic() + world.amounts['churn']
    while time.monotonic() < end:
        if running and (len(running) == CROWD or world.random.random() < 0.4):
            written += stop_one(world, ctl, running)
        else:
            start_one(world, ctl, running, started)
            started += 1
    while running:
        written += stop_one(world, ctl, running)
    busy.end()
    ground.note('%d sessions, %d rows; the witness: %d rows' % (started, written, witness.end()))
    after = ground.at_rest(daemon, ctl)
    check(after[0] <= before[0], 'descriptors: %d before, %d after' % (before[0], after[0]))
    ground.note('memory of its own: %d KiB before, %d KiB after' % (before[1], after[1]))
