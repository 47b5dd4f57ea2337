# SPDX-License-Identifier: GPL-2.0-or-later
"""
The daemon's life: what it takes until it is ready, and until all programs are loaded, how long its end takes, how long
no row is written when it is started anew under load, and what very many segments below the log folder add to its start.
"""
import contextlib
import csv
import glob
import os
import shutil
import signal
import subprocess
import time

from fd_store import FdStore
from lib.daemon import Daemon
from lib.part_start import MARK
from lib.programs import Missing, Producer
from lib.table import Table, bar, median

REPEATS = 5
PATIENCE = 600
SEGMENTS, FOLDERS = 200000, 4
BESIDE = ((), ('--block',), ('--cache', '--net', '--block'))  # streams of sessions beside the one that is looked at
CPU_BARS = {'tracepoint': 0.3, 'function': 1.0}  # s until it is ready


class Life(Daemon):
    """One whose start and end are measured, as a service whose descriptors are kept over a new start."""
    store = None

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def begin(self, anew=True):
        """
        s of time, and of CPU time, until it says that it is ready. Not `anew`: with what the service manager has kept since
        the last one ended.
        """
        command = self.command()
        if anew and self.store:
            self.store.close()
            self.store = None
        self.store = self.store or FdStore(self.path('notify'))
        with open(self.path('log.txt'), 'ab') as log:
            before = time.monotonic()
            self.process = self.store.start(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        while 'READY' not in (told := self.store.take(PATIENCE) or {}):
            if not told:
                raise Missing('iotracerd is not ready: see %s' % self.path('log.txt'))
        return time.monotonic() - before, self.cpu_ns() / 1e9

    def load(self):
        """s of CPU time when all programs are loaded, which `streams` waits for."""
        self.ctl('streams')
        return self.cpu_ns() / 1e9

    def finish(self):
        """s until it has ended."""
        before = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        if self.process.wait():
            raise Missing('iotracerd failed: see %s' % self.path('log.txt'))
        took = time.monotonic() - before
        self.store.take_all()
        return took

    def forget(self):
        """Its sessions do not go on."""
        shutil.rmtree(self.path('state'), ignore_errors=True)

    def remove(self):
        if self.process and self.process.poll() is None:
            self.finish()
        if self.store:
            self.store.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def row_times(folder, pid):
    """When the producer's operations began, in ns on CLOCK_MONOTONIC, in order."""
    found = []
    for path in glob.glob(os.path.join(folder, '*', 'fs', '*.csv')):
        with open(path, newline='', errors='replace') as file:
            found += [int(row['mono_ns']) for row in csv.DictReader(file)
                      if row['pid'] == str(pid) and row['offset'] == str(MARK)]
    return sorted(found)


def hole(daemon, pid, name, beside):
    """The longest time in s without a row, over a new start while sessions run and a process works."""
    daemon.ctl('start', name, '--vfs', '--operation', 'READ', '--compress', 'none', '--no-snapshots')
    for stream in beside:
        daemon.ctl('start', name + stream, stream, '--no-snapshots')
    time.sleep(0.3)
    daemon.finish()
    daemon.begin(anew=False)
    end = time.monotonic() + PATIENCE
    while any(one['state'] != 'running' for one in daemon.json('list')['sessions']) and time.monotonic() < end:
        time.sleep(0.02)
    time.sleep(0.3)
    daemon.ctl('stop', '--all')
    times = row_times(daemon.path('log', name), pid)
    daemon.load()
    return max(((after - before) / 1e9 for before, after in zip(times, times[1:])), default=None)


def lives(daemon):
    """Of each life: (time, CPU time) until it is ready, CPU time until all is loaded, time of its end."""
    found = []
    for _ in range(REPEATS):
        ready, loaded = daemon.begin(), daemon.load()
        daemon.ctl('start', 'all', '--all', '--no-snapshots')
        time.sleep(0.3)
        found.append((*ready, loaded, daemon.finish()))
        daemon.forget()
    return found


def holes(daemon, pid, repeats):
    """By the streams of other sessions that go on, the holes."""
    return {beside: [hole(daemon, pid, 'hole%d%s' % (i, ''.join(beside)), beside) for i in range(repeats)]
            for beside in BESIDE}


@contextlib.contextmanager
def producing(world):
    """The process whose rows are looked at."""
    producer = Producer(world.build, '-c', world.cpu, '-n', 1, '-p', 100, '-s', PATIENCE, '-o', MARK, world.data)
    producer.go()
    try:
        yield producer.pid
    finally:
        producer.end()


def fill(daemon):
    """Segments as long sessions of earlier daemons leave them."""
    for number in range(FOLDERS):
        folder = daemon.path('log', 'many', '2026010%dT000000Z' % (number + 1))
        os.makedirs(os.path.join(folder, 'fs'))
        with open(os.path.join(folder, 'manifest.json'), 'w', encoding='ascii') as file:
            file.write('{}')
        for i in range(SEGMENTS // FOLDERS):
            os.mknod(os.path.join(folder, 'fs', 'fs_%06d.csv.gz' % (i + 1)), 0o640)


def scan(daemon, ready):
    """s that the segments add to the start."""
    daemon.command()
    fill(daemon)
    return daemon.begin()[0] - ready


def show_holes(level, gaps):
    table = Table('Time without rows over a new start at %s level, s' % level, 'other sessions', 'least', 'median', 'most')
    longest = {}
    for beside, values in gaps.items():
        values, name = [value for value in values if value is not None], ' '.join(beside) or 'none'
        table.add(name, *([min(values), median(values), max(values)] if values else [None] * 3))
        longest[name] = max(values, default=None)
    table.show()
    for name, value in longest.items():
        bar('hole over a new start, longest, other sessions: %s' % name, value, '<=', 1.0, ' s')


def show(level, found, gaps, scanned):
    table = Table("The daemon's life at %s level, s, %d times" % (level, REPEATS), '', 'least', 'median', 'most')
    names = ('ready', 'CPU time until ready', 'CPU time until all is loaded', 'end, with all streams recorded')
    columns = dict(zip(names, zip(*found)))
    for name, values in columns.items():
        table.add(name, min(values), median(values), max(values))
    table.show()
    bar('CPU time until ready, median', median(columns[names[1]]), '<=', CPU_BARS[level], ' s')
    bar('end, longest', max(columns[names[3]]), '<=', 0.5, ' s')
    show_holes(level, gaps)
    bar('%d segments below the log folder' % SEGMENTS, scanned, '<=', 1.0, ' s')


def part(world):
    daemon = Life(world)
    try:
        found = lives(daemon)
        with producing(world) as pid:
            daemon.begin()
            daemon.load()
            gaps = holes(daemon, pid, REPEATS)
        level = daemon.checks()['level']
        daemon.finish()
        daemon.forget()
        show(level, found, gaps, scan(daemon, median([ready for ready, *_ in found])))
    finally:
        daemon.remove()
