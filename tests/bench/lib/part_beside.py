# SPDX-License-Identifier: GPL-2.0-or-later
"""A row of each of the other streams, beside a pread's and beside whoever can show the like: all in one run.

In virtual machines whose clock counts instructions, or on this kernel, where the figures are ratios at best.
"""
import contextlib
import copy
import functools
import os
import subprocess
import time

from lib import part_block, part_function, tracers
from lib.daemon import Daemon
from lib.part_row import Least, measure
from lib.programs import Missing
from lib.table import Table, bar, note

TRACEFS = '/sys/kernel/tracing'
NULL_DISK = '/dev/nullb0'
PERF_STARTS = 0.5  # seconds
PEERS = ('ftrace', 'perf record', 'blktrace')

# What a row is of, its stream, kind of call of bench_pread, events that show the like: of alternatives, those that are there
ROWS = (
    ('a pread', 'vfs', 'pread', ('syscalls:sys_enter_pread64', 'syscalls:sys_exit_pread64')),
    ('cache HIT', 'cache', 'pread', ('filemap:mm_filemap_get_pages',)),
    ('block request', 'block', 'direct', ('block:block_bio_queue', 'block:block_rq_issue', 'block:block_rq_complete')),
    ('net SEND', 'net', 'send', ('syscalls:sys_enter_sendto', 'syscalls:sys_exit_sendto')),
    ('io_uring NOP', 'iouring', 'iouring', ('io_uring:io_uring_submit_sqe', 'io_uring:io_uring_submit_req',
                                            'io_uring:io_uring_complete')),
    ('io_uring READ', 'iouring', 'iouring-read', ('io_uring:io_uring_submit_sqe', 'io_uring:io_uring_submit_req',
                                                  'io_uring:io_uring_complete')),
)


@contextlib.contextmanager
def disk():
    """One that does nothing, and completes requests at once; where the kernel has none, a loop device in memory."""
    done = subprocess.run(['modprobe', 'null_blk', 'nr_devices=1', 'queue_mode=2', 'irqmode=0'], check=False,
                          capture_output=True)
    if not done.returncode and os.path.exists(NULL_DISK):
        yield NULL_DISK
        return
    with part_block.loop_device() as device:
        yield device


def there(events):
    """Those events that this kernel has."""
    return [event for event in events if os.path.isdir(os.path.join(TRACEFS, 'events', *event.split(':')))]


@contextlib.contextmanager
def ftrace(events):
    """Into buffers of its own, which are overwritten as nobody reads them."""
    instance = os.path.join(TRACEFS, 'instances', 'iotracer-bench')
    try:
        os.mkdir(instance)
    except OSError as error:
        raise Missing('ftrace: %s' % error.strerror) from error
    try:
        for event in events:
            with open(os.path.join(instance, 'events', *event.split(':'), 'enable'), 'w', encoding='ascii') as file:
                file.write('1')
        yield []
    finally:
        os.rmdir(instance)


@contextlib.contextmanager
def perf_of_all(world, events):
    """perf record that runs by itself meanwhile."""
    tracers.require('perf')
    process = subprocess.Popen(['perf', 'record', '-q', '-a', '-e', ','.join(events), '-o',
                                os.path.join(world.folder, 'perf.data')], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(PERF_STARTS)
        yield []
    finally:
        tracers.end(process)


def perf_record(world, events):
    """Of all CPUs, as what ends a request is seldom the program that made it."""
    return tracers.in_front(world, 'perf', 'record', '-q', '-a', '-e', ','.join(events), '-o',
                            os.path.join(world.folder, 'perf.data'), '--')


def variants_of(world, daemon, row, lost):
    _, stream, kind, events = row
    peers = {'untraced': tracers.nothing}
    if there(events):
        peers['ftrace'] = functools.partial(ftrace, there(events))
        peers['perf record'] = functools.partial(perf_record, world, there(events))
    if stream == 'block':
        peers['blktrace'] = functools.partial(tracers.blktrace, world, world.data)
    found = {name: functools.partial(tracers.without, daemon, peer) for name, peer in peers.items()}
    found['iotracer'] = functools.partial(tracers.iotracer, daemon, stream, lost)
    return [Least(name, tracer, calls=50, options=('-k', kind)) for name, tracer in found.items()]


def added_of(variants):
    """By variant, what it adds to a call; the call itself as `untraced`."""
    for variant in variants:
        if not variant.samples and variant.name in ('untraced', 'iotracer'):
            raise Missing('%s: %s' % (variant.name, variant.why))
    figures = {variant.name: variant.figure() for variant in variants if variant.samples}
    base = figures['untraced']
    return {**{name: figure - base for name, figure in figures.items()}, 'untraced': base}


def has_row(row):
    """A kernel without a hook where a read finds its pages has no HIT."""
    return row[1] != 'cache' or there(row[3])


def show(found):
    pread = found[ROWS[0][0]]['iotracer']
    table = Table('A row of each stream: added to the call that makes it, by one who records that alone (least of all batches)',
                  'row', 'call', 'iotracer', "of a pread's", *PEERS, 'of the cheapest peer')
    for name, added in found.items():
        peers = [added.get(peer) for peer in PEERS]
        least = min((one for one in peers if one is not None), default=None)
        table.add(name, added['untraced'], added['iotracer'], added['iotracer'] / pread, *peers,
                  added['iotracer'] / least if least else None)
    table.show()
    for name, added in list(found.items())[1:]:
        bar('%s, of a pread\'s row' % name, added['iotracer'] / pread, '<=', 1.0, 'x')


def here(world):
    lost, found, why = [], {}, []
    with disk() as device, Daemon(world) as daemon:
        daemon.load()
        for row in ROWS:
            if not has_row(row):
                note('this kernel has no hook for a %s' % row[0])
                continue
            of_row = copy.copy(world)
            of_row.data = device if row[1] == 'block' else world.data
            variants = variants_of(of_row, daemon, row, lost)
            measure(of_row, variants)
            found[row[0]] = added_of(variants)
            why += ['%s, %s is missing: %s' % (row[0], one.name, one.why) for one in variants if one.why]
        level = daemon.checks()['level']
    note('level %s, rows lost by iotracer while measured: %d' % (level, sum(lost)))
    show(found)
    for text in why:
        note(text)


def part(world):
    for kernel in part_function.KERNELS:
        part_function.part_on(world, kernel, 'beside-here', '')
