# SPDX-License-Identifier: GPL-2.0-or-later
"""What recording everything takes from random reads of this machine's disk, and what of that anybody would take."""
import functools
import os
import shutil
import tempfile

from lib import machine, part_beside, part_block, part_dirtier, tracers
from lib.daemon import Daemon
from lib.programs import Missing
from lib.table import Table, bar, note

FILE_SIZE = 1 << 30
KEPT_BAR = 0.97
STATISTICS_RUNS = 3
MEMORY = '/dev/shm'

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
        cost_of_all(daemon, work)
    bar('requests a second with --all, of untraced', share, '>=', KEPT_BAR, 'x')
    os.unlink(path)


def beside(world, daemon, work):
    """What each keeps of the requests; returns what --all does. Our rows lie on the disk that is read, but in one case."""
    memory = tempfile.mkdtemp(dir=MEMORY)
    variants = {
        '--all': functools.partial(daemon.session, '--all'),
        '--all, into memory': functools.partial(daemon.session, '--all', folder=memory),
        '--block': functools.partial(daemon.session, '--block'),
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


def cost_of_all(daemon, work):
    with daemon.session('--all') as session, machine.bpf_statistics():
        programs, process = daemon.bpf_ns(), daemon.cpu_ns()
        count = sum(work() * part_block.RUNTIME for _ in range(STATISTICS_RUNS))
        programs, process = daemon.bpf_ns() - programs, daemon.cpu_ns() - process
        session.stop()
    accounts = session.final['sessions'][0]['streams']
    note('a request takes %.0f ns in our programs, with the counting of that, and %.0f ns of the daemon'
         % (programs / count, process / count))
    for stream, one in accounts.items():
        if one['emitted'] > count / 10:
            note('%s: %.2f rows of a request, %.3f %% of them lost' % (
                stream, one['emitted'] / count, 100 * sum(one['lost'].values()) / one['emitted']))
