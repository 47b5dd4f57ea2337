# SPDX-License-Identifier: GPL-2.0-or-later
"""What recording everything takes from random reads of this machine's disk, and what of that anybody would take."""
import contextlib
import functools
import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import time

from lib import machine, part_beside, part_block, tracers
from lib.daemon import MIB, Daemon
from lib.programs import Missing
from lib.table import Table, bar, note

FILE_SIZE = 1 << 30
BLOCK = 4096
KEPT_BAR = 0.97
PAIRS = 16  # for each of the rounds
SETTLED = 0.8  # seconds after which what goes on beside fio is under way
SLOT = 0.5  # seconds in which reads are counted
STATISTICS_RUNS = 3
MEMORY = '/dev/shm'
ROWS_BYTES = 600  # of the three rows of a request, as text
WRITTEN = 1 << 29
OFTEN = 20  # programs that run for each so many requests are told of

# What perf would record of the same requests
EVENTS = ('io_uring:io_uring_submit_req', 'io_uring:io_uring_complete', 'block:block_bio_queue', 'block:block_rq_insert',
          'block:block_rq_issue', 'block:block_rq_complete')


def part(world):
    """On all CPUs, as nothing is to be in the way of the disk."""
    path = os.path.join(world.folder, 'fio')
    work = lambda: part_block.run_fio(world, path, [], 'io_uring', ['--size=%d' % FILE_SIZE])['iops']
    with Daemon(world, range(os.cpu_count())) as daemon:
        daemon.load()
        rate = work()  # lays the file out
        price_of_bytes(world, rate)
        share = beside(world, daemon, path, rate)
        cost_of_all(world, daemon, work)
    bar('requests a second with --all, of untraced', share, '>=', KEPT_BAR, 'x')
    os.unlink(path)


# ---- bytes alone ----

def fio_writes(path, *options):
    """Onto new blocks, past the cache, as many bytes at once as the daemon writes."""
    return ['fio', '--name=writer', '--filename=' + path, '--rw=write', '--bs=1m', '--direct=1', '--ioengine=psync',
            '--fallocate=none', '--size=%d' % WRITTEN, *options]


def price_of_bytes(world, rate):
    """How long the disk is busy with the rows of a second, if it has nothing else to do."""
    path = os.path.join(world.folder, 'written')
    done = subprocess.run(fio_writes(path, '--output-format=json'), cwd=world.folder, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=True)
    found = json.loads(done.stdout[done.stdout.index('{'):])['jobs'][0]['write']
    os.unlink(path)
    each = found['clat_ns']['mean']
    note('the disk takes %.0f us to write 1 MiB: %.1f %% of its time for %d bytes of each of %.0f requests a second' % (
        each / 1e3, each * rate * ROWS_BYTES / MIB / 1e7, ROWS_BYTES, rate))


@contextlib.contextmanager
def writer(world, rate):
    """Writes as many bytes a second to the disk as rows have, and traces nothing."""
    path = os.path.join(world.folder, 'written')
    command = fio_writes(path, '--rate=%d' % rate)
    with subprocess.Popen(command, cwd=world.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as process:
        while not os.path.exists(path):
            if process.poll() is not None:
                raise Missing('fio does not write')
            time.sleep(0.01)
        try:
            yield
        finally:
            process.terminate()
    os.unlink(path)


@contextlib.contextmanager
def with_bytes(programs, world, rate):
    """Writes as many bytes to that disk as rows have, with such programs on the hooks: less than that nobody pays who records them."""
    with writer(world, rate), programs(world, 'all'):
        yield


# ---- what is kept of the requests ----

class Reader:
    """fio, which goes on as long as this does."""

    def __init__(self, world, path):
        self.command = ['fio', '--name=bench', '--filename=' + path, '--rw=randread', '--bs=%d' % BLOCK, '--direct=1',
                        '--ioengine=io_uring', '--iodepth=16', '--thread', '--time_based', '--runtime=360000',
                        '--size=%d' % FILE_SIZE]
        self.folder, self.process = world.folder, None

    def __enter__(self):
        self.process = subprocess.Popen(self.command, cwd=self.folder, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(SETTLED)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def requests(self):
        return int(re.search(r'read_bytes: (\d+)', machine.read('/proc/%d/io' % self.process.pid))[1]) / BLOCK

    def rate(self):
        """Requests a second."""
        count, begin = self.requests(), time.monotonic()
        time.sleep(SLOT)
        return (self.requests() - count) / (time.monotonic() - begin)


def add_kept(table, name, pairs):
    """Adds a row; returns the mean of what is kept."""
    shares = [traced / untraced for untraced, traced in pairs]
    kept = statistics.mean(shares)
    table.add(name, statistics.mean(one for one, _ in pairs), statistics.mean(one for _, one in pairs), '%.3f' % kept,
              '%.3f' % (statistics.stdev(shares) / len(shares) ** 0.5), '%.3f' % statistics.median(shares))
    return kept


def compare(world, daemon, path, variants):
    """
    By name, the pairs of requests a second without and with each, in short slots of one run, in turn: what the machine does beside it,
    and what drifts, weighs on all alike. Without is the mean of the slots before and after, when the hooks of the daemon have gone.
    """
    found = {name: [] for name in variants}
    with Reader(world, path) as reader:
        before = reader.rate()
        for _ in range(PAIRS * world.rounds):
            for name, tracer in variants.items():
                with tracer():
                    time.sleep(SETTLED)
                    traced = reader.rate()
                daemon.await_detached()
                after = reader.rate()
                found[name].append(((before + after) / 2, traced))
                before = after
    return found


def available(variants):
    """Those that this machine has."""
    found = {}
    for name, tracer in variants.items():
        try:
            with tracer():
                found[name] = tracer
        except Missing as error:
            note('%s is missing: %s' % (name, error))
    return found


def beside(world, daemon, path, rate):
    """What each keeps of the requests; returns what --all does. Our rows lie on the disk that is read, but in one case."""
    memory = tempfile.mkdtemp(dir=MEMORY)
    variants = {
        'nothing': contextlib.nullcontext,
        '--all': functools.partial(daemon.session, '--all'),
        '--all, into memory': functools.partial(daemon.session, '--all', folder=memory),
        '--block': functools.partial(daemon.session, '--block'),
        'as many bytes written to the disk': functools.partial(writer, world, rate * ROWS_BYTES),
        'programs that do nothing': functools.partial(tracers.empty_programs, world, 'all'),
        'these bytes, and programs that do nothing': functools.partial(with_bytes, tracers.empty_programs, world, rate * ROWS_BYTES),
        'the least three rows, not read': functools.partial(tracers.least_programs, world, 'all'),
        'these bytes, and the least three rows': functools.partial(with_bytes, tracers.least_programs, world, rate * ROWS_BYTES),
        'perf record': functools.partial(part_beside.perf_of_all, world, part_beside.there(EVENTS)),
    }
    try:
        found = compare(world, daemon, path, available(variants))
    finally:
        shutil.rmtree(memory)
    table = Table('fio, random reads of 4 KiB by io_uring, 16 under way, on a file of this disk: %d pairs' % (PAIRS * world.rounds),
                  'requests a second', 'untraced', 'with it', 'kept', 'its error', 'median')
    shares = {name: add_kept(table, name, pairs) for name, pairs in found.items()}
    table.show()
    return shares['--all']


def ran(before, after):
    """Of each program that ran meanwhile: name, ns and runs, the longest first."""
    none = {'run_time_ns': 0, 'run_cnt': 0}
    found = [(one['name'], *(one.get(key, 0) - before.get(number, none).get(key, 0) for key in ('run_time_ns', 'run_cnt')))
             for number, one in after.items()]
    return sorted((one for one in found if one[2]), key=lambda one: -one[1])


def counting_ns(world, work):
    """What the kernel's counting adds to the time of a program, which is what it counts of those that do nothing."""
    with tracers.empty_programs(world, 'all'), machine.bpf_statistics():
        before = machine.programs()
        work()
        counted = [one for one in ran(before, machine.programs()) if one[0].startswith('all_')]
    runs = sum(one[2] for one in counted)
    return sum(one[1] for one in counted) / runs if runs else 0


def by_program(before, counting, count):
    """What each program takes of a request, without the counting."""
    table = Table('Of a request, without the %.0f ns that counting adds to each run' % counting, 'program', 'runs', 'ns')
    often = [one for one in ran(before, machine.programs()) if one[2] > count / OFTEN]
    net = lambda one: max(one[1] - one[2] * counting, 0) / count
    for one in often:
        table.add(one[0], one[2] / count, '%.0f' % net(one))
    table.add('all', sum(one[2] for one in often) / count, '%.0f' % sum(net(one) for one in often))
    table.show()


def cost_of_all(world, daemon, work):
    counting = counting_ns(world, work)
    with daemon.session('--all') as session, machine.bpf_statistics():
        programs, process = machine.programs(), daemon.cpu_ns()
        count = sum(work() * part_block.RUNTIME for _ in range(STATISTICS_RUNS))
        by_program(programs, counting, count)
        process = daemon.cpu_ns() - process
        session.stop()
    accounts = session.final['sessions'][0]['streams']
    note('a request takes %.0f ns of the daemon' % (process / count))
    for stream, one in accounts.items():
        if one['emitted'] > count / 10:
            note('%s: %.2f rows of a request, %.3f %% of them lost' % (
                stream, one['emitted'] / count, 100 * sum(one['lost'].values()) / one['emitted']))
