# SPDX-License-Identifier: GPL-2.0-or-later
"""Sessions of a process that does nothing cost nothing."""
import time

from lib.load import Load
from lib.registry import check, test

import ground

SESSIONS = 8
SHARE = 0.03
GROWTH = 1024  # KiB


@test
def sessions(world):
    daemon, ctl = ground.begin(world)
    idle = Load(world)
    pid = daemon.process.pid
    for number in range(SESSIONS):
        world.session('--vfs', '--block', '--pid', idle.pid, name='idle-%d' % number,
                      ctl=ctl).start()
    time.sleep(1)
    before, memory, begin = ground.processor(pid), ground.heap(pid), time.monotonic()
    time.sleep(world.amounts['idle'])
    share = (ground.processor(pid) - before) / (time.monotonic() - begin)
    growth = ground.heap(pid) - memory
    ground.note('%.2f %% of a core, %d KiB more memory' % (100 * share, growth))
    check(share < SHARE, 'idle sessions take %.1f %% of a core' % (100 * share))
    check(growth < GROWTH, 'memory grew by %d KiB without rows' % growth)
    ctl.json('stop', '--all')
