# SPDX-License-Identifier: GPL-2.0-or-later
"""A flight recorder beside a session that writes files: what a row costs, and what a dump of it does."""
import os
import time

from lib.daemon import MIB, Daemon
from lib.programs import Producer
from lib.table import Table, bar

SECONDS = 5
SIZE = 16 * MIB


def cpu_ns(daemon):
    return daemon.json('status')['cost']['cpu_ns']


def lost_of(one):
    return sum(one['lost'].values())


class Run:
    """One producer at full speed, and a session of its reads."""

    def __init__(self, world, daemon, name, *options):
        producer = Producer(world.build, '-c', world.cpu, '-s', min(world.seconds, SECONDS), world.data)
        try:
            daemon.ctl('start', name, '--vfs', '--pid', str(producer.pid), *options)
            before = cpu_ns(daemon)
            producer.go()
            self.calls = producer.figures()['calls']
            time.sleep(0.5)
            self.daemon_ns = cpu_ns(daemon) - before
            self.status = daemon.json('status', name)['sessions'][0]
            self.account = self.status['streams']['vfs']
        finally:
            producer.end()

    def ns_per_row(self):
        return self.daemon_ns / (self.account['emitted'] or 1)


def files(world, daemon, number):
    name = 'files%d' % number
    run = Run(world, daemon, name, '--output', os.path.join(daemon.folder, 'out', name))
    daemon.ctl('stop', name)
    return run


def memory(world, daemon, number):
    """With a dump at its end."""
    name = 'memory%d' % number
    run = Run(world, daemon, name, '--flight-recorder', str(SIZE))
    before, began = cpu_ns(daemon), time.monotonic()
    dump = daemon.json('dump', name, '--output', os.path.join(daemon.folder, 'out', name))['dump']
    run.dump_s, run.dump_ns = time.monotonic() - began, cpu_ns(daemon) - before
    run.dumped = dump['streams']['vfs']
    daemon.ctl('stop', name)
    return run


def show(kinds):
    table = Table('Daemon CPU of a row, one producer at full speed', 'rows go', 'made', 'emitted', 'lost',
                  'ns/row')
    for kind, runs in kinds.items():
        for run in runs:
            table.add(kind, int(run.calls), run.account['emitted'], lost_of(run.account), run.ns_per_row())
    table.show()
    best = {kind: min(run.ns_per_row() for run in runs) for kind, runs in kinds.items()}
    bar('a row kept in memory, of one written', best['to memory'] / best['to files'], '<=', 0.5)


def show_dumps(runs):
    table = Table('Dumps of a memory of %d MiB' % (SIZE // MIB), 'run', 'rows', 'bytes of memory/row',
                  'bytes of file/row', 'seconds', 'CPU, ns/row')
    for number, run in enumerate(runs, 1):
        rows = run.dumped['written'] or 1
        table.add(number, rows, run.status['flight_recorder']['used'] / rows, run.dumped['bytes'] / rows, run.dump_s, run.dump_ns / rows)
    table.show()


def part(world):
    with Daemon(world) as daemon:
        kinds = {'to files': [], 'to memory': []}
        for number in range(world.repeats):
            kinds['to files'].append(files(world, daemon, number))
            kinds['to memory'].append(memory(world, daemon, number))
        show(kinds)
        show_dumps(kinds['to memory'])
