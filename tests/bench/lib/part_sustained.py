# SPDX-License-Identifier: GPL-2.0-or-later
"""One producer at full speed: what is lost, what the daemon takes for it, and how much memory."""
import glob
import os
import subprocess
import tempfile
import time

from lib.daemon import MIB, Daemon
from lib.programs import Producer
from lib.table import Table, bar, note


SHARE_SECONDS = 5  # of a run that shows what a row costs the daemon
PLAIN_CHUNK = 128 << 10
PLAIN_MOST = 1 << 30


def plain_write_ns(folder, size):
    """CPU time of writing so many bytes to a new file, whoever writes them."""
    chunk, chunks = bytes(PLAIN_CHUNK), min(size, PLAIN_MOST) // PLAIN_CHUNK
    if not chunks:
        return 0
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        before = time.process_time_ns()
        for _ in range(chunks):
            file.write(chunk)
        return (time.process_time_ns() - before) * size / (chunks * PLAIN_CHUNK)


class Run:
    """One recording of a producer, with all that was seen of it."""

    def __init__(self, world, daemon, seconds):
        self.resident, self.maps = 0, 0
        before = daemon.cpu_ns()
        producer = Producer(world.build, '-c', world.cpu, '-s', seconds, world.data)
        try:
            with daemon.session('--vfs') as session:
                self.record(daemon, session, producer)
                self.daemon_ns = daemon.cpu_ns() - before
                self.rows, self.own_rows = count_rows(session.output, producer.pid)
            self.plain_ns = plain_write_ns(world.folder, self.account['bytes'])
        finally:
            producer.end()

    def record(self, daemon, session, producer):
        threads = daemon.thread_cpu_ns()
        producer.go()
        while producer.running():
            own, maps = daemon.resident()
            self.resident, self.maps = max(self.resident, own), max(self.maps, maps)
            time.sleep(0.5)
        self.producer = producer.figures()
        session.await_written()
        self.threads = {tid: tuple(now - then for now, then in zip(times, threads.get(tid, (0, 0))))
                        for tid, times in daemon.thread_cpu_ns().items()}
        began = time.monotonic()
        self.account = session.stop()
        self.stop_s = time.monotonic() - began


def daemon_share(world, daemon):
    """CPU time of the daemon for a row, in ns: of the better of two runs."""
    runs = [Run(world, daemon, SHARE_SECONDS) for _ in range(2)]
    return min(run.daemon_ns / (run.account['written'] or 1) for run in runs)


def count_rows(output, pid):
    """Rows of the files, and those of them that are reads of the process."""
    rows = own = 0
    for path in sorted(glob.glob(os.path.join(output, 'fs', '*.csv'))):
        rows += int(subprocess.check_output(['wc', '-l', path]).split()[0]) - 1
        own += int(subprocess.run(['grep', '-c', '-F', ',READ,%d,%d,bench_pread,' % (pid, pid), path],
                                  env={**os.environ, 'LC_ALL': 'C'}, stdout=subprocess.PIPE,
                                  check=False).stdout)
    return rows, own


def show_rows(runs):
    table = Table('Sustained: one producer at full speed, --vfs to CSV, daemon on another CPU', 'run', 'made',
                  'its CPU', 'emitted', 'written', 'on disk', 'of producer', 'ring', 'queue', 'disk', 'unmatched',
                  'rows/s', 'MB/s', 'stop, s')
    for number, run in enumerate(runs, 1):
        one, seconds = run.account, run.producer['seconds']
        lost = one['lost']
        table.add(number, int(run.producer['calls']),
                  '%.0f %%' % (100 * run.producer['cpu'] / seconds), one['emitted'], one['written'],
                  run.rows, run.own_rows,
                  lost['ring'], lost['queue'], lost['disk'], lost['unmatched'], one['written'] / seconds,
                  one['bytes'] / seconds / 1e6, run.stop_s)
    table.show()
    bar('rows lost, of the best run', min(sum(run.account['lost'].values()) for run in runs), '<=', 0)
    bar('rows lost, of the worst run', max(sum(run.account['lost'].values()) for run in runs), '<=', 0)
    for number, run in enumerate(runs, 1):
        lost = sum(run.account['lost'].values())
        if run.account['written'] != run.rows or run.account['emitted'] != run.rows + lost:
            note('run %d: emitted is NOT the rows on disk and those lost' % number)
        if int(run.producer['calls']) > run.own_rows + lost:
            note('run %d: %d calls of the producer neither on disk nor counted as lost' % (
                number, run.producer['calls'] - run.own_rows - lost))


def show_compressed(world, daemon):
    """CPU of all that the daemon does for a row, until its file is compressed and the manifest tells of it."""
    before = daemon.cpu_ns()
    producer = Producer(world.build, '-c', world.cpu, '-s', SHARE_SECONDS, world.data)
    try:
        with daemon.session('--vfs', compress='gzip') as session:
            producer.go()
            while producer.running():
                time.sleep(0.5)
            session.await_written()
            rows = session.stop()['written']
            session.await_compressed()
            spent = daemon.cpu_ns() - before
    finally:
        producer.end()
    bar('daemon CPU per row, its compression included', spent / (rows or 1), '<=', 550.0, ' ns')


def show_cpu(runs):
    table = Table('CPU of the daemon, ring to file, in these runs', 'run', 'ns/row', 'plain write of the bytes',
                  'by thread (user + kernel)')
    for number, run in enumerate(runs, 1):
        rows = run.account['written'] or 1
        busy = ['%.0f + %.0f' % (user / rows, kernel / rows) for user, kernel in run.threads.values()
                if user + kernel > rows]
        table.add(number, run.daemon_ns / rows, run.plain_ns / rows, ', '.join(busy))
    table.show()
    bar('daemon CPU per row', min(run.daemon_ns / (run.account['written'] or 1) for run in runs), '<=', 250.0, ' ns')


def show_memory(daemon, runs):
    maps, programs = daemon.locked()
    table = Table('Memory of the daemon while it records, MiB', '', 'MiB')
    resident = max(run.resident for run in runs) / MIB
    table.add('resident, without maps and rings', resident)
    table.add('resident of mapped maps and rings', max(run.maps for run in runs) / MIB)
    table.add('locked by maps and rings', maps / MIB)
    table.add('locked by programs', programs / MIB)
    table.add('maps and rings as doctor says', daemon.checks().get('memory of maps and rings'))
    table.show()
    bar('resident, without maps and rings', resident, '<=', 32.0, ' MiB')
    bar('locked by maps and rings', maps / MIB, '<=', 64.0, ' MiB')


def part(world):
    with Daemon(world) as daemon:
        daemon.load()
        runs = [Run(world, daemon, world.seconds) for _ in range(world.repeats)]
        show_rows(runs)
        show_cpu(runs)
        show_compressed(world, daemon)
        show_memory(daemon, runs)


def memory(world):
    with Daemon(world) as daemon:
        daemon.load()
        show_memory(daemon, [Run(world, daemon, min(world.seconds, 5))])
