# SPDX-License-Identifier: GPL-2.0-or-later
"""How long until a started session is answered for, and until its first row, where no hooks are attached yet."""
import csv
import glob
import os
import time

from lib.daemon import Daemon
from lib.programs import Producer
from lib.table import Table, bar, median

MARK = 4242  # offset in the file that only the producer reads
REPEATS = 15
STREAMS = ('--vfs', '--block', '--cache', '--net', '--all')


def first_row_ns(output, pid):
    """On CLOCK_MONOTONIC, None without one."""
    for path in sorted(glob.glob(os.path.join(output, 'fs', '*.csv'))):
        with open(path, newline='', errors='replace') as file:
            for row in csv.DictReader(file):
                if row['pid'] == str(pid) and row['offset'] == str(MARK):
                    return int(row['mono_ns'])
    return None


def sample(daemon, pid, stream):
    """ms from the start of the client to its answer, and to the first row; and of a client that only asks for the list."""
    daemon.await_detached()
    before = time.monotonic_ns()
    daemon.ctl('list')
    listed = time.monotonic_ns() - before
    before = time.monotonic_ns()
    with daemon.session(stream) as session:
        answered = time.monotonic_ns()
        time.sleep(0.05)
        session.stop(stream.strip('-'))
        first = first_row_ns(session.output, pid)
    return (answered - before) / 1e6, None if first is None else (first - before) / 1e6, listed / 1e6


def samples(daemon, pid, repeats):
    """By stream, what sample() returns, so many times."""
    return {stream: [sample(daemon, pid, stream) for _ in range(repeats)] for stream in STREAMS}


def show(level, found):
    figures = {}
    for stream, samples in found.items():
        answered, first, listed = zip(*samples)
        first = [one for one in first if one is not None]
        figures['%s, answered' % stream] = answered
        if first:
            figures['%s, first row' % stream] = first
        figures['list, answered'] = figures.get('list, answered', ()) + listed
    table = Table('Start of a session at %s level, ms, %d times each' % (level, len(samples)), '', 'least', 'median', 'most')
    for name, values in figures.items():
        table.add(name, min(values), median(values), max(values))
    table.show()
    for name, values in figures.items():
        if not name.startswith('list'):
            bar('%s, median' % name, median(values), '<=', 50.0, ' ms')
            bar('%s, longest' % name, max(values), '<=', 50.0, ' ms')


def part(world):
    producer = Producer(world.build, '-c', world.cpu, '-n', 1, '-p', 100, '-s', 600, '-o', MARK, world.data)
    producer.go()
    try:
        with Daemon(world) as daemon:
            daemon.load()
            show(daemon.checks()['level'], samples(daemon, producer.pid, REPEATS))
    finally:
        producer.end()
