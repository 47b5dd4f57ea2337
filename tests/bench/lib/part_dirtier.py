# SPDX-License-Identifier: GPL-2.0-or-later
"""How much of what a disk does is known to be of a process, and what it costs to know who made pages dirty.

The disk is a loop device in memory, which nobody else uses; what it did is also what the kernel counts of it.
"""
import collections
import contextlib
import csv
import functools
import glob
import json
import os
import subprocess

from lib import machine, tracers, workloads
from lib.daemon import MIB, Daemon
from lib.part_block import loop_device
from lib.programs import Missing
from lib.table import Table, bar, median, note

DEVICE_SIZE = 2048 * MIB
SECTOR = 512
READ_SECTORS, WRITTEN_SECTORS = 2, 6  # words of /sys/block/DISK/stat
SECONDS = 8  # of a workload whose coverage is looked at
RUN_SECONDS = 2  # of a run with pgbench
STATISTICS_SECONDS = 5  # the same, while the kernel counts how long programs run
QUADS = 4  # for each of the rounds
FILE_SIZE = 256 * MIB  # whose pages each become dirty once
PAGE = 4096
KTHREADD = '2'  # parent of all kernel threads
COVERAGE_BAR, EXACT_BAR, KEPT_BAR = 95.0, 2.0, 0.97
FORMATS = {'ext4': ('mkfs.ext4', '-q', '-F', '-E', 'lazy_itable_init=0,lazy_journal_init=0'),
           'xfs': ('mkfs.xfs', '-q', '-f'), 'btrfs': ('mkfs.btrfs', '-q', '-f')}


class Ground:
    """A file system on a loop device of its own."""

    def __init__(self, world, device, kind):
        self.device, self.name = device, os.path.basename(device)
        self.folder = os.path.join(world.folder, 'ground')
        os.makedirs(self.folder, exist_ok=True)
        tracers.require(FORMATS[kind][0])
        workloads.run(*FORMATS[kind], device)
        workloads.run('mount', '-t', kind, '-o', 'noatime', device, self.folder)

    def sync(self):
        workloads.run('sync', '-f', self.folder)

    def transferred(self):
        """Bytes, as the kernel counts them for the disk."""
        words = machine.read('/sys/block/%s/stat' % self.name).split()
        return (int(words[READ_SECTORS]) + int(words[WRITTEN_SECTORS])) * SECTOR


@contextlib.contextmanager
def ground_of(world, kind='ext4'):
    with loop_device(DEVICE_SIZE) as device:
        os.chmod(world.folder, 0o755)  # PostgreSQL is another user
        ground = Ground(world, device, kind)
        try:
            yield ground
        finally:
            workloads.run('umount', ground.folder)


# ---- coverage ----

def of_process(row):
    return row['attribution'] != 'unknown' and row['pid'] not in ('', KTHREADD) and row['ppid'] != KTHREADD


def rows_of(session, ground):
    """Rows of the disk."""
    for path in sorted(glob.glob(os.path.join(session.output, 'ds', '*.csv*'))):
        with open(path, encoding='utf-8', newline='') as file:
            for row in csv.DictReader(file):
                if row['disk'] == ground.name and row['operation'] in ('READ', 'WRITE'):
                    yield row


class Coverage:
    """Bytes of a session's rows of the disk, those of processes among them, and those the kernel counted meanwhile."""

    def __init__(self, daemon, ground, work):
        self.known, self.kinds, self.files = 0, collections.Counter(), collections.Counter()
        ground.sync()
        with daemon.session('--block') as session:
            before = ground.transferred()
            work(SECONDS)
            ground.sync()
            self.counted = ground.transferred() - before
            self.lost = session.stop('block')['lost']
            for row in rows_of(session, ground):
                self.add(row)
        self.bytes = sum(self.kinds.values())

    def add(self, row):
        size = int(row['size'])
        self.kinds[row['attribution']] += size
        if of_process(row):
            self.known += size
        else:
            self.files['%s %s of %s' % (row['attribution'], row['operation'], row['filename'] or
                                        'inode %s, %s' % (row['inode'] or '-', row['command']))] += size

    def percent(self, size):
        return 100 * size / self.counted if self.counted else 0.0


def coverage(kind, daemon, ground):
    found, kinds = {}, ('submitter', 'dirtier', 'shared', 'journal', 'metadata', 'unknown')
    for name, load in workloads.ALL.items():
        try:
            with load(ground.folder) as work:
                found[name] = Coverage(daemon, ground, work)
        except Missing as error:
            note('%s is missing: %s' % (name, error))
    table = Table('Dirtier: bytes of a disk with %s by attribution, %%' % kind, '', 'MiB', 'of a process', *kinds, 'rows - kernel')
    for name, one in found.items():
        table.add(name, one.counted / MIB, one.percent(one.known), *[one.percent(one.kinds[kind]) for kind in kinds],
                  one.percent(one.bytes - one.counted))
    table.show()
    for name, one in found.items():
        for what, size in one.files.most_common(3):
            note('%s, %s, of no process: %.2f %%: %s' % (kind, name, one.percent(size), what))
        if any(one.lost.values()):
            note('%s, %s, rows lost: %s' % (kind, name, ', '.join('%s %d' % of for of in one.lost.items() if of[1])))
    for name in workloads.ALL:
        one = found.get(name)
        bar('%s, %s, bytes of a process' % (kind, name), one and one.percent(one.known), '>=', COVERAGE_BAR, ' %')
        bar('%s, %s, rows and the kernel differ by' % (kind, name), one and abs(one.percent(one.bytes - one.counted)), '<=',
            EXACT_BAR, ' %')


# ---- cost ----

def fio_writes(world, ground, synced, words):
    """Operations a second; every page of the file becomes dirty once, from clean."""
    ground.sync()
    command = [*words, 'fio', '--name=bench', '--filename=' + os.path.join(ground.folder, 'fio'), '--rw=randwrite',
               '--bs=4k', '--size=%d' % FILE_SIZE, '--ioengine=psync', '--invalidate=0', '--overwrite=1',
               '--cpus_allowed=%d' % world.cpu, '--output-format=json', *(['--end_fsync=1'] if synced else [])]
    text = workloads.run(*command)
    one = json.loads(text[text.index('{'):])['jobs'][0]
    return one['write']['total_ios'] * 1000 / one['job_runtime'] if synced else one['write']['iops']


def paired(world, daemon, work, tracer):
    """
    Figures without and with what `tracer` makes a context of: pairs of sums of two short runs each, as A B B A and B A A B in turn,
    so that what the machine does beside it, and what drifts, weighs on both alike. Hooks stay for some time after a session: without
    means that they have gone.
    """
    found = []
    for number in range(QUADS * world.rounds):
        sums = {False: 0, True: 0}
        for traced in (False, True, True, False) if number % 2 else (True, False, False, True):
            with tracer() if traced else tracers.without(daemon):
                sums[traced] += work()
        found.append((sums[False] / 2, sums[True] / 2))
    return found


def kept(table, name, pairs):
    """Adds a row; returns the median of what the pairs keep."""
    shares = sorted(traced / untraced for untraced, traced in pairs)
    quarter = len(shares) // 4
    table.add(name, median([one for one, _ in pairs]), median([one for _, one in pairs]), '%.3f' % median(shares),
              '%.3f to %.3f' % (shares[quarter], shares[-1 - quarter]))
    return median(shares)


def transaction(daemon, work):
    """What the kernel and the daemon say that a transaction takes of us, which does not depend on other work."""
    with daemon.session('--block'), machine.bpf_statistics():
        programs, process = daemon.bpf_ns(), daemon.cpu_ns()
        count = work(STATISTICS_SECONDS) * STATISTICS_SECONDS
        programs, process = daemon.bpf_ns() - programs, daemon.cpu_ns() - process
    all_cpus = len(os.sched_getaffinity(0)) * STATISTICS_SECONDS * 1e9
    note('a transaction takes %.1f us in our programs and %.1f us of the daemon: %.1f %% of the time of all CPUs, with the '
         'counting of that' % (programs / count / 1e3, process / count / 1e3, 100 * (programs + process) / all_cpus))


def page(daemon, work):
    """The same, of a page that is written into the cache and from there to the disk."""
    with daemon.session('--block'), machine.bpf_statistics():
        programs, process = daemon.bpf_ns(), daemon.cpu_ns()
        work()
        programs, process = daemon.bpf_ns() - programs, daemon.cpu_ns() - process
    count = FILE_SIZE / PAGE
    note('a page takes %.0f ns in our programs and %.0f ns of the daemon, with the counting of that' %
         (programs / count, process / count))


def cost(world, daemon, ground):
    tracers.require('fio')
    table = Table('Dirtier: a session with --block alone, %d pairs of two runs' % (QUADS * world.rounds), 'a second', 'untraced',
                  'traced', 'kept, median', 'half of the pairs')
    shares, traced = {}, functools.partial(daemon.session, '--block')
    fio_writes(world, ground, True, [])  # lays the file out
    for name, synced in (('fio, 4 KiB buffered random writes', False), ('the same with fsync() at its end', True)):
        pairs = paired(world, daemon, functools.partial(fio_writes, world, ground, synced, []), traced)
        shares[name] = kept(table, name, pairs)
    page(daemon, functools.partial(fio_writes, world, ground, True, []))
    os.unlink(os.path.join(ground.folder, 'fio'))
    with workloads.pgbench(ground.folder) as work:
        work(RUN_SECONDS)
        name = 'pgbench, transactions'
        shares[name] = kept(table, name, paired(world, daemon, functools.partial(work, RUN_SECONDS), traced))
        table.show()
        transaction(daemon, work)
    for name, share in shares.items():
        bar(name + ', of untraced', share, '>=', KEPT_BAR, 'x')


def measured(world, daemon, measure, kind):
    try:
        with ground_of(world, kind) as ground:
            measure(daemon, ground)
    except (Missing, subprocess.SubprocessError) as error:
        note('%s: not measured: %s' % (kind, error))


def all_coverage(world, daemon):
    for kind in world.file_systems:
        measured(world, daemon, functools.partial(coverage, kind), kind)


def part(world):
    """What it costs."""
    with Daemon(world) as daemon:
        measured(world, daemon, functools.partial(cost, world), 'ext4')


def attributed(world):
    """How much is known."""
    with Daemon(world) as daemon:
        all_coverage(world, daemon)
