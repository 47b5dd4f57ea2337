# SPDX-License-Identifier: GPL-2.0-or-later
"""What recording everything takes from random reads of this machine's disk, and what of that anybody would take."""
import contextlib
import functools
import os
import shutil
import subprocess
import tempfile

from lib import machine, part_beside, part_block, part_dirtier, tracers
from lib.daemon import Daemon
from lib.programs import Missing
from lib.table import Table, bar, note

FILE_SIZE = 1 << 30
KEPT_BAR = 0.97
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
    work = lambda words=(): part_block.run_fio(world, path, list(words), 'io_uring', ['--size=%d' % FILE_SIZE])['iops']
    with Daemon(world, range(os.cpu_count())) as daemon:
        daemon.load()
        work()  # lays the file out
        share = beside(world, daemon, work)
        cost_of_all(world, daemon, work)
    bar('requests a second with --all, of untraced', share, '>=', KEPT_BAR, 'x')
    os.unlink(path)


@contextlib.contextmanager
def writer(world, rate):
    """Writes as many bytes a second to the disk as rows have, and traces nothing."""
    path = os.path.join(world.folder, 'written')
    command = ['fio', '--name=writer', '--filename=' + path, '--rw=write', '--bs=256k', '--direct=1', '--ioengine=psync',
               '--rate=%d' % rate, '--size=%d' % WRITTEN, '--time_based', '--runtime=3600']
    tracers.require('fio')
    with subprocess.Popen(command, cwd=world.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.terminate()
    os.unlink(path)


def beside(world, daemon, work):
    """What each keeps of the requests; returns what --all does. Our rows lie on the disk that is read, but in one case."""
    memory = tempfile.mkdtemp(dir=MEMORY)
    variants = {
        '--all': functools.partial(daemon.session, '--all'),
        '--all, into memory': functools.partial(daemon.session, '--all', folder=memory),
        '--block': functools.partial(daemon.session, '--block'),
        'nothing, but as many bytes written to the disk': functools.partial(writer, world, work() * ROWS_BYTES),
        'programs that do nothing': functools.partial(tracers.empty_programs, world, 'all'),
        'the least three rows, not read': functools.partial(tracers.least_programs, world, 'all'),
        'perf record': functools.partial(part_beside.perf_of_all, world, part_beside.there(EVENTS)),
    }
    table = Table('fio, random reads of 4 KiB by io_uring, 16 under way, on a file of this disk: %d pairs of two runs'
                  % (part_dirtier.QUADS * world.rounds), 'requests a second', 'untraced', 'with it', 'kept, median',
                  'half of the pairs')
    shares = {}
    try:
        for name, tracer in variants.items():
            try:
                shares[name] = part_dirtier.kept(table, name, part_dirtier.paired(world, work, tracer))
            except Missing as error:
                note('%s is missing: %s' % (name, error))
    finally:
        shutil.rmtree(memory)
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
