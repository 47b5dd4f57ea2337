# SPDX-License-Identifier: GPL-2.0-or-later
"""What an event of each stream costs the program that makes it, recorded by us and by its peers."""
import functools
import os
import subprocess

from lib import machine, peers, tracers
from lib.daemon import Daemon
from lib.part_row import Least
from lib.table import Table, bar, note

# stream, kind of call of bench_pread, events that the stream makes of one
STREAMS = (('vfs', 'pread', 1), ('cache', 'pread', 1), ('pagefault', 'fault', 1), ('net', 'net', 2),
           ('conn', 'conn', 5), ('epoll', 'epoll', 1), ('sockopt', 'sockopt', 1), ('iouring', 'iouring', 1))
CALLS = 100
HIT_BAR = 1.5


class Call(Least):
    """A variant of one kind of call."""

    def __init__(self, name, tracer, kind, calls=CALLS, batches=100):
        super().__init__(name, tracer, calls, batches, ('-k', kind))


def variants_of(world, daemon, stream, kind, lost):
    """Untraced first, then us, then whoever can show the like."""
    found = [Call('untraced', tracers.nothing, kind),
             Call('iotracer', functools.partial(tracers.iotracer, daemon, stream, lost), kind),
             Call('sampled out', functools.partial(tracers.sampled_out, daemon, stream), kind)]
    if stream in peers.SCRIPTS:
        found.append(Call('bpftrace', functools.partial(tracers.bpftrace, world, peers.SCRIPTS[stream]), kind))
    if stream in peers.CALLS:
        front = functools.partial(tracers.in_front, world, 'perf', 'trace', '-e', peers.CALLS[stream], '-o',
                                  '/dev/null', '--')
        found.append(Call('perf trace', front, kind, 20, 30))
    return found


def measure(world, variants):
    for _ in range(world.rounds):
        for variant in variants:
            sample = None if variant.why else variant.measure(world)
            if sample:
                variant.samples.append(sample)


def show(found):
    table = Table('Cost of an event by stream: ns added to the call that makes it, by one who records it (least of '
                  'all batches)', 'stream', 'events a call', 'call', 'iotracer', 'sampled out', 'of iotracer',
                  'bpftrace', 'of iotracer', 'perf trace', 'of iotracer')
    added = {}
    for stream, _, events in STREAMS:
        by = {variant.name: variant.figure() for variant in found[stream]}
        base = by.get('untraced')
        cost = {name: (figure - base) / events for name, figure in by.items() if figure and base}
        added[stream] = cost.get('iotracer')
        ratio = lambda name: cost[name] / cost['iotracer'] if name in cost and cost.get('iotracer', 0) > 0 else None
        table.add(stream, events, base, cost.get('iotracer'), cost.get('sampled out'), ratio('sampled out'),
                  cost.get('bpftrace'), ratio('bpftrace'), cost.get('perf trace'), ratio('perf trace'))
    table.show()
    for stream, _, _ in STREAMS:
        for variant in found[stream]:
            if variant.why:
                note('%s, %s is missing: %s' % (stream, variant.name, variant.why))
    for peer, why in peers.not_runnable():
        note('%s does not run here: %s' % (peer, why))
    hit = added['cache'] / added['vfs'] if added.get('cache') and added.get('vfs') else None
    bar('a cache HIT, of a VFS row', hit, '<=', HIT_BAR, 'x')


def retransmitted():
    """Segments sent again, as the kernel counts them."""
    words = [line.split() for line in machine.read('/proc/net/snmp').splitlines() if line.startswith('Tcp:')]
    return int(dict(zip(*words))['RetransSegs']) if len(words) == 2 else None


def drops(world, daemon):
    """No cost, as no call makes them: how many are seen of those that the kernel counts."""
    counted = []
    loss = os.path.join(world.folder, 'lossy.py')
    with open(loss, 'w', encoding='ascii') as file:
        file.write(peers.LOSSY)
    with daemon.session('--drop') as session:
        counted.append(retransmitted())
        subprocess.run(['python3', loss], check=False, timeout=60)
        counted.append(retransmitted())
        one = session.stop('drop')
        seen = one['written']
        lost = sum(one['lost'].values())
    table = Table('Retransmissions of ten connections whose receiver takes nothing', '', 'segments')
    table.add('as the kernel counts', counted[1] - counted[0] if None not in counted else None)
    table.add('iotracer, rows', seen)
    table.add('iotracer, lost', lost)
    table.show()


def part(world):
    lost, found = [], {}
    if not machine.await_quiet():
        note('others trace system calls meanwhile')
    with Daemon(world) as daemon:
        for stream, kind, _ in STREAMS:
            found[stream] = variants_of(world, daemon, stream, kind, lost)
            measure(world, found[stream])
        show(found)
        note('rows lost by iotracer while measured: %d' % sum(lost))
        drops(world, daemon)
