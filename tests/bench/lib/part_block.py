# SPDX-License-Identifier: GPL-2.0-or-later
"""What recording block requests takes from the throughput of a disk that lies in memory, and what a request costs.

A request is carried out by several threads, so what it costs is the time that the kernel counts for our programs; its
counting is in it.
"""
import contextlib
import functools
import json
import os
import subprocess
import tempfile

from lib import machine, tracers
from lib.daemon import Daemon
from lib.part_streams import SAMPLED_BAR
from lib.part_sustained import daemon_share
from lib.programs import Missing
from lib.table import Table, bar, median, note

SIZE = 256 << 20
RUNTIME = 3


@contextlib.contextmanager
def loop_device(size=SIZE):
    with tempfile.NamedTemporaryFile(dir='/dev/shm', prefix='iotracer-bench.') as file:
        file.truncate(size)
        os.posix_fallocate(file.fileno(), 0, size)
        done = subprocess.run(['losetup', '--find', '--show', file.name], capture_output=True, text=True,
                              check=False)
        if done.returncode:
            raise Missing('no loop device: ' + done.stderr.strip())
        try:
            yield done.stdout.strip()
        finally:
            subprocess.run(['losetup', '--detach', done.stdout.strip()], check=True)


def run_fio(world, path, words, engine='libaio', options=None):
    """What fio says of its reads."""
    tracers.require('fio')
    done = subprocess.run(
        words + ['fio', '--name=bench', '--filename=' + path, '--rw=randread', '--bs=4k', '--direct=1',
                 '--ioengine=' + engine, '--iodepth=16', '--time_based', '--runtime=%d' % RUNTIME,
                 *(options or ['--cpus_allowed=%d' % world.cpu]), '--output-format=json'],
        cwd=world.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Missing('fio: ' + (done.stderr.strip().splitlines() or ['it failed'])[0])
    return json.loads(done.stdout[done.stdout.index('{'):])['jobs'][0]['read']


def measure(world, device, variants):
    """By name of the variant: requests a second of every round, or why there are none."""
    found = {name: [] for name in variants}
    for _ in range(world.rounds):
        for name, tracer in variants.items():
            if isinstance(found[name], str):
                continue
            try:
                with tracer() as words:
                    found[name].append(run_fio(world, device, words)['iops'])
            except Missing as error:
                found[name] = str(error)
    return found


def show(found, lost):
    table = Table('Block: random reads of 4 KiB, 16 under way, loop device in memory', '', 'requests/s, best',
                  'median', 'of untraced, best', 'median')
    base = found['untraced']
    for name, samples in found.items():
        if isinstance(samples, str) or isinstance(base, str):
            table.add(name, None, None, None, None)
            continue
        table.add(name, max(samples), median(samples), '%.1f %%' % (100 * max(samples) / max(base)),
                  '%.1f %%' % (100 * median(samples) / median(base)))
    table.show()
    for name, samples in found.items():
        if isinstance(samples, str):
            note('%s is missing: %s' % (name, samples))
    note('rows lost by iotracer: %d; no bar' % sum(lost))


def program_ns(world, daemon, device, tracer):
    """By request, in the programs of the daemon: of the best of all rounds."""
    found = []
    for _ in range(world.rounds):
        with tracer():
            before = daemon.bpf_ns()
            requests = run_fio(world, device, [])['total_ios']
            found.append((daemon.bpf_ns() - before) / requests)
    return min(found)


def sampled(world, daemon, device):
    with machine.bpf_statistics():
        row = program_ns(world, daemon, device, functools.partial(tracers.iotracer, daemon, 'block', []))
        out = program_ns(world, daemon, device, functools.partial(tracers.sampled_out, daemon, 'block'))
    share = daemon_share(world, daemon)
    table = Table('Block: time in our programs for a request, of the best round', '', 'ns')
    table.add('recorded', row)
    table.add('sampled out', out)
    table.show()
    note('a row costs the daemon %.0f ns of CPU' % share)
    bar('block, sampled out, of a row', out / (row + share), '<=', SAMPLED_BAR, 'x')


def part(world):
    lost = []
    with loop_device() as device, Daemon(world) as daemon:
        show(measure(world, device, {
            'untraced': tracers.nothing,
            'iotracer': functools.partial(tracers.iotracer, daemon, 'block', lost),
            'bpftrace, as biosnoop': functools.partial(tracers.bpftrace, world, tracers.BLOCK_SCRIPT),
            'blktrace': functools.partial(tracers.blktrace, world, device),
        }), lost)
        sampled(world, daemon, device)
