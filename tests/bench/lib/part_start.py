# SPDX-License-Identifier: GPL-2.0-or-later
"""How long until a started session is answered for, and until its first row."""
import csv
import glob
import os
import time

from lib.daemon import Daemon
from lib.programs import Producer
from lib.table import Table, bar, median

MARK = 4242  # offset in the file that only the producer reads
REPEATS = 15


def first_row_ns(output, pid):
    """On CLOCK_MONOTONIC, None without one."""
    for path in sorted(glob.glob(os.path.join(output, 'fs', '*.csv'))):
        with open(path, newline='', errors='replace') as file:
            for row in csv.DictReader(file):
                if row['pid'] == str(pid) and row['offset'] == str(MARK):
                    return int(row['mono_ns'])
    return None


def sample(daemon, pid):
    """ms from the start of the client to its answer, and to the first row."""
    before = time.monotonic_ns()
    with daemon.session('--vfs') as session:
        answered = time.monotonic_ns()
        time.sleep(0.05)
        session.stop()
        first = first_row_ns(session.output, pid)
    return (answered - before) / 1e6, None if first is None else (first - before) / 1e6


def show(samples):
    table = Table('Start of a session, ms, %d times' % REPEATS, '', 'least', 'median', 'most')
    for name, found in samples.items():
        table.add(name, *([min(found), median(found), max(found)] if found else [None] * 3))
    table.show()
    for name, found in samples.items():
        bar('%s, median' % name, median(found) if found else None, '<=', 50.0, ' ms')
        bar('%s, longest' % name, max(found, default=None), '<=', 50.0, ' ms')


def part(world):
    producer = Producer(world.build, '-c', world.cpu, '-n', 1, '-p', 100, '-s', 600, '-o', MARK, world.data)
    producer.go()
    try:
        with Daemon(world) as daemon:
            samples = [sample(daemon, producer.pid) for _ in range(REPEATS)]
    finally:
        producer.end()
    show({'answered': [one for one, _ in samples],
          'first row': [one for _, one in samples if one is not None]})
