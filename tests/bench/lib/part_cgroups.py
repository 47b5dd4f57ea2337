# SPDX-License-Identifier: GPL-2.0-or-later
"""What the table of cgroups costs while cgroups come and go: whoever makes them, and the daemon."""
import contextlib
import json
import os
import time

from lib import machine
from lib.daemon import MIB, Daemon
from lib.programs import Missing
from lib.table import Table, median, note

COUNT = 10000
FULL = 66000  # more than the table takes
STEADY_SECONDS = 20
RECORDED = '--sockopt'  # has no rows here, so that all there is to measure is of cgroups


def hierarchy():
    for line in machine.read('/proc/self/mounts').splitlines():
        words = line.split()
        if words[2] == 'cgroup2':
            return words[1]
    raise Missing('cgroup v2 is not mounted')


class Churn:
    """Makes and removes cgroups one after the other, each with a name of its own."""

    def __init__(self, folder):
        self.folder, self.made = folder, 0

    def one(self):
        self.made += 1
        path = os.path.join(self.folder, 'iotr-%d.scope' % self.made)
        os.mkdir(path)
        os.rmdir(path)

    def many(self, count):
        """Microseconds for one."""
        begin = time.perf_counter()
        for _ in range(count):
            self.one()
        return (time.perf_counter() - begin) / count * 1e6


@contextlib.contextmanager
def churning():
    folder = os.path.join(hierarchy(), 'iotr-bench-%d' % os.getpid())
    os.mkdir(folder)
    try:
        yield Churn(folder)
    finally:
        os.rmdir(folder)


def told(session):
    with open(os.path.join(session.output, 'manifest.json'), encoding='ascii') as file:
        return next(one for one in json.load(file)['snapshots'] if one['kind'] == 'cgroups')


def coming_and_going(world, daemon, churn):
    untraced, traced, daemon_us, missing = [], [], [], []
    for _ in range(world.rounds):
        untraced.append(churn.many(COUNT))
        with daemon.session(RECORDED) as session:
            before, made = daemon.cpu_ns(), churn.made
            traced.append(churn.many(COUNT))
            session.stop('sockopt')
            daemon_us.append((daemon.cpu_ns() - before) / 1000 / COUNT)
            missing.append(churn.made - made - min(told(session)['rows'], churn.made - made))
    table = Table('Cgroups: %d that are made and removed, us for one' % COUNT, '', 'median', 'least')
    table.add('untraced', median(untraced), min(untraced))
    table.add('with a session', median(traced), min(traced))
    table.add('CPU time of the daemon', median(daemon_us), min(daemon_us))
    table.show()
    note('not in the table at the end: %s' % ', '.join(map(str, missing)))


def full(daemon, churn):
    empty = daemon.resident()[0]
    with daemon.session(RECORDED) as session:
        churn.many(FULL)
        time.sleep(2)  # until the table is written
        begin, before = time.monotonic(), daemon.cpu_ns()
        while time.monotonic() < begin + STEADY_SECONDS:
            churn.one()
            time.sleep(0.2)
        share = (daemon.cpu_ns() - before) / 1e7 / (time.monotonic() - begin)
        resident = daemon.resident()[0]
        session.stop('sockopt')
        one = told(session)
    table = Table('Cgroups: %d of them in one session, and then five a second' % FULL, '', 'is')
    table.add('in the table', one['rows'])
    table.add('said to be left out', one['skipped'])
    table.add('CPU of the daemon meanwhile, %', share)
    table.add('resident memory, more than before, MiB', (resident - empty) / MIB)
    table.add('file, MiB', one['bytes'] / MIB)
    table.show()


def part(world):
    with churning() as churn, Daemon(world) as daemon:
        churn.many(COUNT)
        coming_and_going(world, daemon, churn)
        full(daemon, churn)
