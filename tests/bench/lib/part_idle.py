# SPDX-License-Identifier: GPL-2.0-or-later
"""What an idle daemon leaves attached."""
import shutil
import subprocess
import time

from lib import machine
from lib.daemon import Daemon
from lib.table import Table, bar

RELEASE = 2  # seconds: hooks stay for one, for the next session


def links():
    found = machine.links()
    return None if found is None else {link['id'] for link in found}


def perf_events(daemon):
    """Programs that the daemon has on perf events, as bpftool tells."""
    if not shutil.which('bpftool'):
        return None
    done = subprocess.run(['bpftool', 'perf', 'list'], capture_output=True, text=True, check=False)
    return sum(line.startswith('pid %d ' % daemon.process.pid) for line in done.stdout.splitlines())


def state(daemon, before):
    now = links()
    return (int(daemon.checks()['programs attached']), None if now is None else len(now - before),
            perf_events(daemon))


def part(world):
    before = links()
    table = Table('Programs attached', '', 'doctor', 'links of the machine, new', 'perf events')
    with Daemon(world) as daemon:
        idle = state(daemon, before)
        table.add('after the start of the daemon', *idle)
        with daemon.session('--all'):
            table.add('while a session of all streams runs', *state(daemon, before))
        time.sleep(RELEASE)
        after = state(daemon, before)
        table.add('%d s after the session' % RELEASE, *after)
    table.show()
    bar('programs attached with no session', max(number or 0 for number in idle[::2] + after[::2]), '<=', 0)
