# SPDX-License-Identifier: GPL-2.0-or-later
"""What recording everything takes from random reads of this machine's disk."""
import os

from lib import machine, part_block, part_dirtier
from lib.daemon import Daemon
from lib.table import Table, bar, note

FILE_SIZE = 1 << 30
KEPT_BAR = 0.97
STATISTICS_RUNS = 3


def part(world):
    """On all CPUs, as nothing is to be in the way of the disk."""
    path = os.path.join(world.folder, 'fio')
    work = lambda: part_block.run_fio(world, path, [], 'io_uring', ['--size=%d' % FILE_SIZE])['iops']
    with Daemon(world, range(os.cpu_count())) as daemon:
        daemon.load()
        work()  # lays the file out
        pairs = part_dirtier.paired(world, daemon, work, '--all')
        table = Table('fio, random reads of 4 KiB by io_uring, 16 under way, on a file of this disk: %d pairs of two runs'
                      % len(pairs), 'requests a second', 'untraced', 'with --all', 'kept, median', 'half of the pairs')
        share = part_dirtier.kept(table, '--all', pairs)
        table.show()
        cost_of_all(daemon, work)
    bar('requests a second with --all, of untraced', share, '>=', KEPT_BAR, 'x')
    os.unlink(path)


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
