# SPDX-License-Identifier: GPL-2.0-or-later
"""What an event of each stream costs, recorded by us and by its peers, and sampled out.

It costs the program that makes it. Recorded it costs the daemon CPU time too: what is sampled out is held against
both together. Beside that stands what the kernel takes for empty programs on the hooks that such an event comes to first
and last.
"""
import functools
import os
import subprocess
import time

from lib import machine, peers, tracers
from lib.daemon import Daemon
from lib.part_row import RELEASE, Variant
from lib.part_sustained import daemon_share
from lib.table import Table, bar, note

# stream, kind of call of bench_pread, events that the stream makes of one
STREAMS = (('vfs', 'pread', 1), ('cache', 'pread', 1), ('pagefault', 'fault', 1), ('net', 'net', 2),
           ('conn', 'conn', 5), ('epoll', 'epoll', 1), ('sockopt', 'sockopt', 1), ('iouring', 'iouring', 1))
HIT_BAR = 1.5
SAMPLED_BAR = 1 / 4
EMPTY = ('cache', 'pagefault', 'iouring')  # of hooks other than those of system calls; see bench_empty.bpf.c


class Call(Variant):
    """A variant of one kind of call. Where the kernel puts the pages of a process makes some calls dearer."""

    processes, calls, batches = 6, 100, 25

    def __init__(self, name, tracer, kind):
        super().__init__(name, tracer, self.calls, self.batches, ('-k', kind))

    def figure(self):
        """Lower quartile of the processes' smallest samples: other work only adds, and the very smallest may be luck."""
        least = sorted(sample['min'] for sample in self.samples)
        return least[len(least) // 4] if least else None


class SlowCall(Call):
    """A call under a tracer that starts the program itself, and is slow."""

    processes, calls, batches = 1, 20, 30


def variants_of(world, daemon, stream, kind, lost):
    """Untraced first, then us, then whoever can show the like."""
    found = [Call('untraced', tracers.nothing, kind),
             Call('empty hooks', functools.partial(tracers.empty_programs, world,
                                                   stream if stream in EMPTY else 'tracepoint'), kind),
             Call('iotracer', functools.partial(tracers.iotracer, daemon, stream, lost), kind),
             Call('sampled out', functools.partial(tracers.sampled_out, daemon, stream), kind)]
    if stream in peers.SCRIPTS:
        found.append(Call('bpftrace', functools.partial(tracers.bpftrace, world, peers.SCRIPTS[stream]), kind))
    if stream in peers.CALLS:
        front = functools.partial(tracers.in_front, world, 'perf', 'trace', '-e', peers.CALLS[stream], '-o',
                                  '/dev/null', '--')
        found.append(SlowCall('perf trace', front, kind))
    return found


def measure(world, variants):
    for _ in range(world.rounds):
        time.sleep(RELEASE)  # so that hooks of the round before do not add to the untraced sample
        for variant in variants:
            if not variant.why:
                variant.samples += variant.measure(world)


def costs(variants, events):
    """By variant, what an event adds to the call that makes it; the call itself as `untraced`."""
    by = {variant.name: variant.figure() for variant in variants}
    base = by.get('untraced')
    found = {name: (figure - base) / events for name, figure in by.items() if figure and base}
    return {**found, 'untraced': base}


def over(cost, name, under):
    return cost[name] / under if cost.get(name) is not None and under and under > 0 else None


def show(found):
    table = Table('Cost of an event by stream: ns added to the call that makes it, by one who records it (lower '
                  'quartile of the least batches)', 'stream', 'events a call', 'call', 'empty hooks', 'iotracer',
                  'bpftrace', 'of iotracer', 'perf trace', 'of iotracer')
    added = {}
    for stream, _, events in STREAMS:
        added[stream] = cost = costs(found[stream], events)
        own = cost.get('iotracer')
        table.add(stream, events, cost['untraced'], cost.get('empty hooks'), own,
                  cost.get('bpftrace'), over(cost, 'bpftrace', own),
                  cost.get('perf trace'), over(cost, 'perf trace', own))
    table.show()
    for stream, _, _ in STREAMS:
        for variant in found[stream]:
            if variant.why:
                note('%s, %s is missing: %s' % (stream, variant.name, variant.why))
    for peer, why in peers.not_runnable():
        note('%s does not run here: %s' % (peer, why))
    bar('a cache HIT, of a VFS row', over(added['cache'], 'iotracer', added['vfs'].get('iotracer')), '<=', HIT_BAR, 'x')
    return added


def show_sampled(added, daemon_ns):
    """Of a recorded event, the daemon's CPU time for a row included."""
    table = Table('An event that is sampled out', 'stream', 'ns added', 'of a recorded one',
                  'empty hooks, of a recorded one')
    shares = {}
    for stream, _, _ in STREAMS:
        cost = added[stream]
        row = cost['iotracer'] + daemon_ns if cost.get('iotracer') else None
        shares[stream] = over(cost, 'sampled out', row)
        table.add(stream, cost.get('sampled out'), shares[stream], over(cost, 'empty hooks', row))
    table.show()
    note('a row costs the daemon %.0f ns of CPU' % daemon_ns)
    for stream, share in shares.items():
        bar('%s, sampled out, of a row' % stream, share, '<=', SAMPLED_BAR, 'x')


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
        added = show(found)
        note('rows lost by iotracer while measured: %d' % sum(lost))
        show_sampled(added, daemon_share(world, daemon))
        drops(world, daemon)
